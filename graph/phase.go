package graph

import (
	"slices"
	"sync"
	"sync/atomic"
)

// phase is the round of a program's phase.
type phase struct {
	workers []Worker
	work    []item // those of the start, worker by worker, and behind them room for what is given away
	bounds  []int  // of every worker's first item, and of what is given away
	spare   int    // items that can be given away

	size atomic.Int32    // items so far
	mu   sync.Mutex      // who gives
	_    [cacheLine]byte // another phase counts elsewhere
}

var _ round = (*phase)(nil)

// chain is steps that a worker runs one after the other.
type chain struct {
	steps []step
	ahead ahead
}

// step is a task and those that are to run near it, for one part after the other.
type step []*task

// stepsOf puts the tasks of a chain together.
func stepsOf(tasks []*task) (steps []step) {
	for i, t := range tasks {
		if i == 0 || !t.Near {
			steps = append(steps, nil)
		}
		last := &steps[len(steps)-1]
		*last = append(*last, t)
	}
	return steps
}

// item is a chain, from one of its steps on, for parts [from, to), which take turns at every step: the weights
// that one has read are still in the cache for the next.
type item struct {
	*chain
	step     int
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

// newPhase lists for every worker first its share of the chains, which are long, then that of everything else, which
// fills the gaps.
func newPhase(tasks []*task, workers []Worker) *phase {
	ph := &phase{workers: workers}
	chains := map[int][]*task{} // by parts
	var order []int
	var alone []item
	for _, t := range tasks {
		if !t.Rows {
			alone = append(alone, ph.items([]*task{t}, t.Parts, max(1, t.Group), 1)...)
			continue
		}
		if chains[t.Parts] == nil {
			order = append(order, t.Parts)
		}
		chains[t.Parts] = append(chains[t.Parts], t)
	}
	var lists [][]item
	for _, parts := range order {
		turns := 1
		if parts >= together*len(workers) {
			turns = together
		}
		lists = append(lists, ph.items(chains[parts], parts, turns, turns))
	}
	for w, n := 0, len(workers); w < n; w++ {
		ph.bounds = append(ph.bounds, len(ph.work))
		for _, all := range lists {
			ph.work = append(ph.work, portion(all, w, n, 0)...)
		}
		ph.work = append(ph.work, portion(alone, w, n, n-1)...) // the first have what the chains leave uneven
	}
	n := len(ph.work)
	ph.bounds = append(ph.bounds, n)
	ph.work = slices.Grow(ph.work, ph.spare)[:n+ph.spare]
	return ph
}

// portion is what worker w of n gets of all: the last workers one more where that is uneven, or with ahead = n-1 the
// first.
func portion(all []item, w, n, ahead int) []item {
	return all[(len(all)*w+ahead)/n : (len(all)*(w+1)+ahead)/n]
}

// items cuts the parts of a chain in items of so many, of which some take turns.
func (ph *phase) items(tasks []*task, parts, each, turns int) (all []item) {
	steps := stepsOf(tasks)
	c := &chain{steps, aheadOf(steps, turns)}
	for from := 0; from < parts; from += each {
		to := min(from+each, parts)
		all = append(all, item{chain: c, from: from, to: to})
		ph.spare += to - from - 1
	}
	return all
}

func (ph *phase) begin() int {
	first := ph.bounds[len(ph.workers)]
	ph.size.Store(int32(first))
	return first
}

func (ph *phase) queue(i int) (from, to int) {
	if i < len(ph.workers) {
		return ph.bounds[i], ph.bounds[i+1]
	}
	return ph.bounds[i], int(ph.size.Load())
}

// run does an item, but for what it hands on to workers who have none.
func (ph *phase) run(i, worker int) {
	it, w := ph.work[i], &ph.workers[worker]
	w.begin(&it.ahead, it.from, it.to)
	for ; it.step < len(it.steps); it.step++ {
		w.step(it.step)
		for part := it.from; part < it.to; part++ {
			for _, t := range it.steps[it.step] {
				t.Run(part, w)
			}
			if part+1 < it.to && w.team.starving() {
				ph.share(&it, part+1, w)
			}
		}
	}
}

// share gives half of what is left of an item away. Its step has not begun with part next.
func (ph *phase) share(it *item, next int, w *Worker) {
	to := max(next, (it.from+it.to+1)/2)
	if it.step == len(it.steps)-1 { // the parts before have nothing more to come
		to = (next + it.to + 1) / 2
	}
	if to < it.to {
		ph.give(item{it.chain, it.step, to, it.to}, w.team)
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
