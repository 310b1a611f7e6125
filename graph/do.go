package graph

// Do runs f for every part, on all workers, and returns when all are done.
// Parts are taken dynamically, so f must not care who runs which. It must not
// be called while a program runs on the team.
func (t *Team) Do(parts int, f func(part int)) {
	p := Program{team: t, phases: make([]phase, 1), workers: make([]Worker, t.size)}
	run := []func(int, *Worker){func(i int, _ *Worker) { f(i) }}
	items := make([]item, parts)
	for i := range items {
		items[i] = item{run, i}
	}
	p.phases[0].items = items
	t.run(&p)
}
