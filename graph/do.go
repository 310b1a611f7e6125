package graph

import "sync/atomic"

// loop is the round of a Do.
type loop struct {
	workers int
	parts   atomic.Int32 // a worker who is late may still look
	f       func(part int)
	rounds  [1]round // itself
}

// Do runs f for every part, on all workers, and returns when all are done.
// Parts are taken dynamically, so f must not care who runs which. It allocates
// nothing. It must not be called while a program runs on the team.
func (t *Team) Do(parts int, f func(part int)) {
	t.claim()
	t.loop.f = f
	t.loop.parts.Store(int32(parts))
	t.run(t.loop.rounds[:])
	t.loop.f = nil
}

func (l *loop) begin() int { return int(l.parts.Load()) }

// queue shares the parts out evenly; none is handed on.
func (l *loop) queue(i int) (from, to int) {
	n := int(l.parts.Load())
	return n * i / l.workers, n * min(i+1, l.workers) / l.workers
}

func (l *loop) run(part, _ int) { l.f(part) }
