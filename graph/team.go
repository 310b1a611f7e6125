package graph

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Team is a fixed set of workers that do rounds of work together. The caller is worker 0.
//
// A round ends when all of its items are done, whoever did them: a worker that is late, because it slept or
// because its core went to another process, keeps nobody waiting as long as it holds no item. A worker comes first
// to items of its own, the same whenever a program runs, whose data its caches may still hold, then to those of
// others. One that finds none does what OnIdle has given it, spins briefly, then sleeps, so that an idle team costs
// nothing and a lost core is not fought over.
type Team struct {
	size   int
	loop   loop    // of Do, kept so that Do allocates nothing
	rest   []round // to come in the workload under way
	closed atomic.Bool
	stop   []func() bool // by worker: is there something else to do than to wait?
	busy   atomic.Bool   // a workload is under way

	_      [cacheLine]byte // all workers write below
	now    atomic.Pointer[round]
	idle   atomic.Pointer[func(stop func() bool) bool]
	queues []queue // one for each worker, and one for items that are handed on
	_      [cacheLine]byte
	left   atomic.Int32 // items of the round that are not done, and one more until all queues are open
	hungry atomic.Int32 // workers without an item
	_      [cacheLine]byte

	mu       sync.Mutex
	cond     *sync.Cond
	sleepers atomic.Int32
}

// round is a set of items without dependencies on each other.
type round interface {
	// begin makes the round ready and gives the number of its items.
	begin() int
	// queue gives the items [from, to) of a queue: of a worker or, behind those of all workers, the one of items that
	// are handed on, which grows while others are under way.
	queue(i int) (from, to int)
	// run does one of them.
	run(item, worker int)
}

// queue hands out items.
type queue struct {
	ticket atomic.Uint64 // rounds so far, and the next item in the low half
	_      [cacheLine - 8]byte
}

// patience bounds the busy wait. What lies between two programs of a small model is shorter, and waking a
// sleeper takes as long. Between two looks lie so many pauses.
const (
	patience = 100 * time.Microsecond
	pauses   = 4
)

// noItem is a ticket's low half when there is nothing to take, however many items a round has.
const noItem = math.MaxUint32

// NewTeam starts a team of n workers; n below 1 means one for every processor
// that Go may use.
func NewTeam(n int) *Team {
	if n < 1 {
		n = runtime.GOMAXPROCS(0)
	}
	t := &Team{size: n, queues: make([]queue, n+1)}
	t.cond = sync.NewCond(&t.mu)
	t.loop.workers = n
	t.loop.rounds[0] = &t.loop
	t.now.Store(&t.loop.rounds[0])
	t.closeQueues(0)
	for w := range n {
		t.stop = append(t.stop, func() bool { return t.waiting() || t.over(w) })
	}
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
	t.wake()
}

// OnIdle has workers call f while they wait for items, within rounds and, until they sleep, between them: for work
// that nobody waits for. Who sleeps does none of it until it has had an item again. f looks often whether it is to
// stop, and says whether it found anything to do. Several workers may call it at once, and one still may when OnIdle
// has replaced it. nil ends it.
func (t *Team) OnIdle(f func(stop func() bool) bool) {
	if f == nil {
		t.idle.Store(nil)
		return
	}
	t.idle.Store(&f)
}

// claim takes the team for a workload, which run then does.
func (t *Team) claim() {
	if t.closed.Load() {
		panic("graph: the team is closed")
	}
	if !t.busy.CompareAndSwap(false, true) {
		panic("graph: the team is at work")
	}
}

// run does all rounds, one after the other.
func (t *Team) run(rounds []round) {
	t.rest = rounds
	t.advance()
	t.serve(0)
}

// advance begins the next round that has items, or ends the workload. All items of the round before are done, so
// nobody else is here.
func (t *Team) advance() {
	for {
		number := t.queues[0].ticket.Load()>>32 + 1
		t.closeQueues(number)
		if len(t.rest) == 0 {
			break
		}
		r := &t.rest[0]
		t.rest = t.rest[1:]
		t.left.Store(int32((*r).begin()) + 1)
		t.now.Store(r)
		for i := range t.queues {
			from, _ := (*r).queue(i)
			t.queues[i].ticket.Store(number<<32 | uint64(from)) // from here on there is something to take
		}
		if t.left.Add(-1) > 0 {
			t.wake()
			return
		}
	}
	t.rest = nil
	t.now.Store(&t.loop.rounds[0]) // nothing of a program is held on to
	t.busy.Store(false)
	t.wake()
}

// closeQueues begins a round of this number: who has read a ticket of the round before gets nothing with it.
func (t *Team) closeQueues(number uint64) {
	for i := range t.queues {
		t.queues[i].ticket.Store(number<<32 | noItem)
	}
}

// serve does items: worker 0 until the workload is over, the others until the team is closed.
func (t *Team) serve(worker int) {
	for {
		r, item := t.take(worker)
		if r == nil {
			if r, item = t.await(worker); r == nil {
				return
			}
		}
		r.run(item, worker)
		if t.left.Add(-1) == 0 {
			t.advance()
		}
	}
}

// take takes an item, of the worker's own queue if there is one; nil if there is none.
func (t *Team) take(worker int) (round, int) {
	for i := range t.size {
		if r, item := t.takeFrom((worker + i) % t.size); r != nil {
			return r, item
		}
	}
	return t.takeFrom(t.size)
}

// takeFrom takes the next item of a queue. Between two rounds a ticket stands for nothing, so one that is the
// same when it is taken as when it was read is of the round that was read in between.
func (t *Team) takeFrom(i int) (round, int) {
	q := &t.queues[i]
	for {
		ticket := q.ticket.Load()
		r := *t.now.Load()
		if _, to := r.queue(i); ticket&noItem >= uint64(to) {
			return nil, 0
		}
		if q.ticket.CompareAndSwap(ticket, ticket+1) {
			return r, int(ticket & noItem)
		}
	}
}

// await takes an item as soon as there is one; nil if there is nothing more to wait for.
func (t *Team) await(worker int) (r round, item int) {
	t.hungry.Add(1)
	defer t.hungry.Add(-1)
	for begun := time.Now(); time.Since(begun) < patience; pause(pauses) {
		if r, item = t.take(worker); r != nil || t.over(worker) {
			return r, item
		}
		if f := t.idle.Load(); f != nil && (*f)(t.stop[worker]) {
			begun = time.Now()
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sleepers.Add(1)
	defer t.sleepers.Add(-1)
	for {
		if r, item = t.take(worker); r != nil || t.over(worker) {
			return r, item
		}
		t.cond.Wait()
	}
}

// starving says whether somebody waits for an item and there is none.
func (t *Team) starving() bool { return t.hungry.Load() > 0 && !t.waiting() }

// waiting says whether there are items that nobody has taken.
func (t *Team) waiting() bool {
	r := *t.now.Load()
	for i := range t.queues {
		if _, to := r.queue(i); t.queues[i].ticket.Load()&noItem < uint64(to) {
			return true
		}
	}
	return false
}

// over says whether a worker need not wait for items.
func (t *Team) over(worker int) bool {
	if worker == 0 {
		return !t.busy.Load()
	}
	return t.closed.Load()
}

// wake is called after something changed that is waited for. A worker announces its sleep before it looks a last
// time, so one of the two sees the other.
func (t *Team) wake() {
	if t.sleepers.Load() == 0 {
		return
	}
	t.mu.Lock()
	t.cond.Broadcast()
	t.mu.Unlock()
}
