package graph

import "sync/atomic"

// loop is a workload of independent parts.
type loop struct {
	team  *Team
	parts int
	f     func(part int)
	next  atomic.Int64
}

// Do runs f for every part, on all workers, and returns when all are done.
// Parts are taken dynamically, so f must not care who runs which. It allocates
// nothing. It must not be called while a program runs on the team.
func (t *Team) Do(parts int, f func(part int)) {
	l := &t.loop
	l.team, l.parts, l.f = t, parts, f
	l.next.Store(0)
	t.run(l)
	l.f = nil
}

func (l *loop) work(int) {
	for {
		i := int(l.next.Add(1)) - 1
		if i >= l.parts {
			break
		}
		l.f(i)
	}
	l.team.barrier()
}
