package graph

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Team is a fixed set of workers that run programs together. The caller of a
// program is worker 0. A worker that waits spins briefly, then sleeps, so that
// an idle team costs nothing and a core lost to another process is not
// fought over.
type Team struct {
	size int
	now  workload // under way
	loop loop     // of Do, kept so that Do allocates nothing

	arrived atomic.Int32
	round   atomic.Uint32 // barriers passed
	job     atomic.Uint32 // programs started
	closed  atomic.Bool

	mu       sync.Mutex
	cond     *sync.Cond
	sleepers atomic.Int32
}

// spins bounds the busy wait: some thirty microseconds, the time in which
// another worker ends its part of a small model. Waking a sleeper takes longer.
const spins = 30000

// NewTeam starts a team of n workers; n below 1 means one for every processor
// that Go may use.
func NewTeam(n int) *Team {
	if n < 1 {
		n = runtime.GOMAXPROCS(0)
	}
	t := &Team{size: n}
	t.cond = sync.NewCond(&t.mu)
	for w := 1; w < n; w++ {
		go t.serve(w)
	}
	return t
}

// Size is the number of workers.
func (t *Team) Size() int { return t.size }

// Close ends the workers. No program may be running.
func (t *Team) Close() {
	t.closed.Store(true)
	t.job.Add(1)
	t.wake()
}

func (t *Team) serve(worker int) {
	seen := uint32(0)
	for {
		t.wait(&t.job, seen)
		seen++
		if t.closed.Load() {
			return
		}
		t.now.work(worker)
	}
}

// workload is what all workers of a team do together. It ends with a barrier,
// so that all are done when one is.
type workload interface{ work(worker int) }

func (t *Team) run(l workload) {
	if t.closed.Load() {
		panic("graph: the team is closed")
	}
	t.now = l
	if t.size > 1 {
		t.job.Add(1)
		t.wake()
	}
	l.work(0)
}

// barrier waits until every worker has come to it.
func (t *Team) barrier() {
	if t.size == 1 {
		return
	}
	round := t.round.Load()
	if int(t.arrived.Add(1)) == t.size {
		t.arrived.Store(0)
		t.round.Add(1)
		t.wake()
		return
	}
	t.wait(&t.round, round)
}

// wait returns when counter is no longer old.
func (t *Team) wait(counter *atomic.Uint32, old uint32) {
	for range spins {
		if counter.Load() != old {
			return
		}
	}
	t.mu.Lock()
	t.sleepers.Add(1)
	for counter.Load() == old {
		t.cond.Wait()
	}
	t.sleepers.Add(-1)
	t.mu.Unlock()
}

// wake is called after a counter moved. A worker announces its sleep before it
// looks at the counter a last time, so one of the two sees the other.
func (t *Team) wake() {
	if t.sleepers.Load() == 0 {
		return
	}
	t.mu.Lock()
	t.cond.Broadcast()
	t.mu.Unlock()
}
