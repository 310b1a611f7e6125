package graph

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// roundsOf is the work of one phase for a team.
func roundsOf(team *Team, tasks ...*task) []round {
	s := &schedule{tasks: tasks, phases: 1}
	workers := make([]Worker, team.Size())
	for i := range workers {
		workers[i].team = team
	}
	return s.rounds(workers)
}

// TestIdleWorkersDoOtherWork: while they have no item, and no longer, though it never ends by itself.
func TestIdleWorkersDoOtherWork(t *testing.T) {
	team := NewTeam(2)
	var inside, here atomic.Int32
	team.OnIdle(func(stop func() bool) bool {
		inside.Add(1)
		defer inside.Add(-1)
		for !stop() {
			runtime.Gosched()
		}
		return true
	})
	until := func(is func() bool) {
		for begun := time.Now(); !is(); runtime.Gosched() {
			if time.Since(begun) > 10*time.Second {
				t.Error("waited for nothing")
				return
			}
		}
	}
	for i := 0; i < 100 && !t.Failed(); i++ {
		here.Store(0)
		team.Do(2, func(part int) { // one has nothing to do
			if part == 0 {
				until(func() bool { return inside.Load() > 0 })
			}
		})
		team.Do(2, func(int) { // both are needed
			here.Add(1)
			until(func() bool { return here.Load() == 2 })
		})
	}
	team.OnIdle(nil)
	team.Close()
	until(func() bool { return inside.Load() == 0 })
}

// witness sees what runs of a round.
type witness struct {
	t             *testing.T
	done          *atomic.Int64 // parts, of all rounds
	before, parts int           // of earlier rounds, and of this one
	chain, group  [16]atomic.Int32
	slow          int           // part of the chain
	pause         time.Duration // of it
}

// saw counts a part that has run so many times before.
func (w *witness) saw(times, want int32) {
	if done := w.done.Add(1); times != want || done <= int64(w.before) || done > int64(w.before+w.parts) {
		w.t.Errorf("something runs after %d others of its part, want %d; as number %d, want %d to %d", times, want, done, w.before+1, w.before+w.parts)
	}
}

// tasks is a chain of some length and a task in groups.
func (w *witness) tasks(r *rand.Rand) (tasks []*task) {
	length, parts, alone := 1+r.IntN(5), 1+r.IntN(len(w.chain)), 1+r.IntN(len(w.group))
	w.parts = length*parts + alone
	for i := range length {
		tasks = append(tasks, &task{Task: Task{Parts: parts, Rows: true, Near: r.IntN(3) == 0, Run: func(part int, _ *Worker) {
			if part == w.slow {
				time.Sleep(w.pause)
			}
			w.saw(w.chain[part].Add(1)-1, int32(i))
		}}})
	}
	return append(tasks, &task{Task: Task{Parts: alone, Group: r.IntN(9), Run: func(part int, _ *Worker) {
		w.saw(w.group[part].Add(1)-1, 0)
	}}})
}

// TestEveryPartOnce runs phases of chains and groups with teams of all sizes, some parts so slow that others go
// to sleep: every part of every task runs once, those of a chain in order, and nothing of a round before the
// round before is over. The same holds when they run again.
func TestEveryPartOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for workers := 1; workers <= 5; workers++ {
		team := NewTeam(workers)
		for i := range 20 {
			var done atomic.Int64
			var witnesses []*witness
			var rounds []round
			total := 0
			for range 4 {
				w := &witness{t: t, done: &done, before: total, slow: r.IntN(20), pause: time.Duration(i%3) * patience}
				rounds = append(rounds, roundsOf(team, w.tasks(r)...)...)
				witnesses, total = append(witnesses, w), total+w.parts
			}
			for range 2 {
				team.claim()
				team.run(rounds)
				if got := int(done.Load()); got != total {
					t.Fatalf("%d workers: %d parts ran, want %d", workers, got, total)
				}
				done.Store(0)
				for _, w := range witnesses {
					w.chain, w.group = [16]atomic.Int32{}, [16]atomic.Int32{}
				}
				time.Sleep(time.Duration(i%4) * patience)
			}
		}
		team.Close()
	}
}

// TestPartsAreHandedOn: with nothing else to do, a worker gets a part of a chain under way from the task on to
// which the other has come, and half of the parts left of a group.
func TestPartsAreHandedOn(t *testing.T) {
	team := NewTeam(2)
	defer team.Close()
	until := func(what string, is func() bool) {
		for begun := time.Now(); !is(); runtime.Gosched() {
			if time.Since(begun) > 10*time.Second {
				t.Errorf("waited for nothing: %s", what)
				return
			}
		}
	}
	untilHungry := func(part int, w *Worker) {
		if part == 0 {
			until("the other worker without work", func() bool { return w.team.hungry.Load() > 0 })
		}
	}
	var chain, group atomic.Int32
	meet := func(here *atomic.Int32) {
		here.Add(1)
		until("two parts at once", func() bool { return here.Load() == 2 })
	}
	ph := roundsOf(team,
		&task{Task: Task{Parts: 2, Rows: true, Run: untilHungry}},
		&task{Task: Task{Parts: 2, Rows: true, Run: func(int, *Worker) { meet(&chain) }}})[0].(*phase)
	ph.work[0].to, ph.bounds = 2, []int{0, 1, 1} // one item of both
	team.claim()
	team.run([]round{ph})

	team.claim()
	team.run(roundsOf(team, &task{Task: Task{Parts: 4, Group: 4, Run: func(part int, w *Worker) {
		untilHungry(part, w)
		if part%2 == 1 {
			meet(&group)
		}
	}}}))
}

// TestOwnItemsFirst: whenever a program runs, a worker comes first to the same items, its share of the chains before
// that of the rest, then to those of others.
func TestOwnItemsFirst(t *testing.T) {
	team := &Team{size: 3, queues: make([]queue, 4)} // nobody works
	team.cond = sync.NewCond(&team.mu)
	nothing := func(int, *Worker) {}
	rounds := roundsOf(team,
		&task{Task: Task{Parts: 3, Run: nothing}},
		&task{Task: Task{Parts: 4, Rows: true, Run: nothing}})
	for run := range 2 {
		team.rest = rounds
		team.advance()
		var got []item
		for r, i := team.take(1); r != nil; r, i = team.take(1) {
			got = append(got, r.(*phase).work[i])
		}
		var parts []int
		for _, it := range got {
			part := it.from
			if !it.steps[0][0].Rows {
				part += 10
			}
			parts = append(parts, part)
		}
		if want := []int{1, 11, 2, 3, 12, 0, 10}; !slices.Equal(parts, want) {
			t.Errorf("run %d: worker 1 takes parts %d, want %d (from 10 on: of the task that is no chain)", run, parts, want)
		}
	}
}

// TestNear: parts of an item take turns at every task, but for those that are to be near the one before.
func TestNear(t *testing.T) {
	team := NewTeam(1)
	defer team.Close()
	var got []string
	tell := func(name string, near bool) *task {
		return &task{Task: Task{Parts: 4, Rows: true, Near: near, Run: func(part int, _ *Worker) {
			got = append(got, fmt.Sprint(name, part))
		}}}
	}
	rounds := roundsOf(team, tell("a", true), tell("b", true), tell("c", false), tell("d", false), tell("e", true), tell("f", true))
	team.claim()
	team.run(rounds)
	want := strings.Fields("a0 b0 a1 b1 c0 c1 d0 e0 f0 d1 e1 f1 a2 b2 a3 b3 c2 c3 d2 e2 f2 d3 e3 f3")
	if !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

// TestItemsOfOthers: who is held up in an item leaves the rest of its own to the others.
func TestItemsOfOthers(t *testing.T) {
	team := NewTeam(2)
	defer team.Close()
	var others atomic.Int32
	team.Do(8, func(part int) {
		if part > 0 {
			others.Add(1)
			return
		}
		for begun := time.Now(); others.Load() < 7; runtime.Gosched() {
			if time.Since(begun) > 10*time.Second {
				t.Errorf("%d of 7 other parts ran", others.Load())
				return
			}
		}
	})
}

// TestNothingToDo: rounds without items are passed over, wherever they stand.
func TestNothingToDo(t *testing.T) {
	for workers := 1; workers <= 3; workers++ {
		team := NewTeam(workers)
		var ran atomic.Int32
		work := roundsOf(team, &task{Task: Task{Parts: 3, Run: func(int, *Worker) { ran.Add(1) }}})[0]
		none := roundsOf(team)[0]
		for _, rounds := range [][]round{{none, work, none, none, work, none}, {none}, {}} {
			team.claim()
			team.run(rounds)
		}
		if ran.Load() != 6 {
			t.Errorf("%d workers: %d parts ran, want 6", workers, ran.Load())
		}
		team.Close()
	}
}

// TestDoWithinDo: a team does one thing at a time.
func TestDoWithinDo(t *testing.T) {
	team := NewTeam(1)
	defer team.Close()
	ran := 0
	team.Do(3, func(int) {
		ran++
		defer func() {
			if said := recover(); said != "graph: the team is at work" {
				t.Errorf("a Do within a Do says %v", said)
			}
		}()
		team.Do(1, func(int) {})
	})
	if team.Do(1, func(int) { ran++ }); ran != 4 {
		t.Errorf("%d parts ran, want 4", ran)
	}
}
