package graph

import (
	"slices"
	"sync"
	"sync/atomic"
)

// phase is the round of a program's phase.
type phase struct {
	workers []Worker
	work    []item // those of the start, and behind them room for what is given away
	first   int    // items of the start
	spare   int    // items that can be given away

	size atomic.Int32
	mu   sync.Mutex      // who gives
	_    [cacheLine]byte // another phase counts elsewhere
}

var _ round = (*phase)(nil)

// chain is tasks that a worker runs one after the other.
type chain struct {
	tasks []*task
	ahead ahead
}

// item is a chain, from one of its tasks on, for parts [from, to), which take turns at every task: the weights
// that one has read are still in the cache for the next.
type item struct {
	*chain
	task     int
	from, to int
}

// together is the number of parts in an item of a chain, as long as there are
// as many for every worker. More gain little, and leave less to share out.
const together = 2

// rounds lists the work of every phase. Buffers have their memory.
func (s *schedule) rounds(workers []Worker) []round {
	tasks := make([][]*task, s.phases)
	for _, t := range s.tasks {
		tasks[t.phase] = append(tasks[t.phase], t)
	}
	rounds := make([]round, s.phases)
	for i, all := range tasks {
		rounds[i] = newPhase(all, workers)
	}
	return rounds
}

// newPhase lists first the chains, which are long, then everything else, which fills the gaps.
func newPhase(tasks []*task, workers []Worker) *phase {
	ph := &phase{workers: workers}
	chains := map[int][]*task{} // by parts
	var order []int
	for _, t := range tasks {
		if !t.Rows {
			continue
		}
		if chains[t.Parts] == nil {
			order = append(order, t.Parts)
		}
		chains[t.Parts] = append(chains[t.Parts], t)
	}
	for _, parts := range order {
		turns := 1
		if parts >= together*len(workers) {
			turns = together
		}
		ph.add(&chain{chains[parts], aheadOf(chains[parts], turns)}, parts, turns)
	}
	for _, t := range tasks {
		if !t.Rows {
			alone := []*task{t}
			ph.add(&chain{alone, aheadOf(alone, 1)}, t.Parts, max(1, t.Group))
		}
	}
	ph.first = len(ph.work)
	ph.work = slices.Grow(ph.work, ph.spare)[:ph.first+ph.spare]
	return ph
}

// add makes items of so many parts.
func (ph *phase) add(c *chain, parts, turns int) {
	for from := 0; from < parts; from += turns {
		to := min(from+turns, parts)
		ph.work = append(ph.work, item{chain: c, from: from, to: to})
		ph.spare += to - from - 1
	}
}

func (ph *phase) begin() int {
	ph.size.Store(int32(ph.first))
	return ph.first
}

func (ph *phase) items() int { return int(ph.size.Load()) }

// run does an item, but for what it hands on to workers who have none.
func (ph *phase) run(i, worker int) {
	it, w := ph.work[i], &ph.workers[worker]
	w.begin(&it.ahead, it.from, it.to)
	for ; it.task < len(it.tasks); it.task++ {
		w.task(it.task)
		for part := it.from; part < it.to; part++ {
			it.tasks[it.task].Run(part, w)
			if part+1 < it.to && w.team.starving() {
				ph.share(&it, part+1, w)
			}
		}
	}
}

// share gives half of what is left of an item away. Its task has not begun with part next.
func (ph *phase) share(it *item, next int, w *Worker) {
	to := max(next, (it.from+it.to+1)/2)
	if it.task == len(it.tasks)-1 { // the parts before have nothing more to come
		to = (next + it.to + 1) / 2
	}
	if to < it.to {
		ph.give(item{it.chain, it.task, to, it.to}, w.team)
		it.to = to
		w.narrow(to)
	}
}

// give adds an item to the phase. The giver's own is not done, and so the round is not.
func (ph *phase) give(it item, t *Team) {
	ph.mu.Lock()
	n := ph.size.Load()
	ph.work[n] = it
	t.left.Add(1)
	ph.size.Store(n + 1)
	ph.mu.Unlock()
	t.wake()
}
