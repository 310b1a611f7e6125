package graph

import (
	"math/rand/v2"
	"runtime"
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

// TestEveryPartOnce runs phases of chains and groups, some of their parts slow, with teams of all sizes: every
// part of every task runs once, those of a chain in order, and nothing of a round before the round before is over.
func TestEveryPartOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for workers := 1; workers <= 5; workers++ {
		team := NewTeam(workers)
		for range 20 {
			var done atomic.Int64 // parts of all tasks
			var rounds []round
			total := 0
			for range 4 {
				before, order := total, make([]atomic.Int32, 16)
				length, parts, slow := 1+r.IntN(5), 1+r.IntN(16), r.IntN(16)
				var tasks []*task
				for i := range length {
					tasks = append(tasks, &task{Task: Task{Parts: parts, Rows: true, Run: func(part int, _ *Worker) {
						if part == slow {
							time.Sleep(20 * time.Microsecond)
						}
						if got := order[part].Swap(int32(i + 1)); int(got) != i || done.Add(1) <= int64(before) {
							t.Errorf("part %d runs task %d after %d, with %d of %d parts of earlier rounds done", part, i, got-1, done.Load(), before)
						}
					}}})
				}
				alone, once := 1+r.IntN(16), make([]atomic.Int32, 16)
				tasks = append(tasks, &task{Task: Task{Parts: alone, Group: r.IntN(9), Run: func(part int, _ *Worker) {
					if once[part].Add(1) > 1 || done.Add(1) <= int64(before) {
						t.Errorf("part %d of a group runs twice, or with %d of %d parts of earlier rounds done", part, done.Load(), before)
					}
				}}})
				total += length*parts + alone
				rounds = append(rounds, roundsOf(team, tasks...)...)
			}
			team.run(rounds)
			if got := int(done.Load()); got != total {
				t.Fatalf("%d workers: %d parts ran, want %d", workers, got, total)
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
	meet := func() func(part int, w *Worker) { // returns when two parts are here, each with a worker
		var here sync.WaitGroup
		here.Add(2)
		return func(int, *Worker) {
			here.Done()
			here.Wait()
		}
	}
	untilHungry := func(part int, w *Worker) {
		for part == 0 && w.team.hungry.Load() == 0 {
			runtime.Gosched()
		}
	}
	first, second := meet(), meet()
	ph := roundsOf(team,
		&task{Task: Task{Parts: 2, Rows: true, Run: untilHungry}},
		&task{Task: Task{Parts: 2, Rows: true, Run: first}})[0].(*phase)
	ph.work[0].to, ph.first = 2, 1 // one item of both
	team.run([]round{ph})

	team.run(roundsOf(team, &task{Task: Task{Parts: 4, Group: 4, Run: func(part int, w *Worker) {
		untilHungry(part, w)
		if part%2 == 1 {
			second(part, w)
		}
	}}}))
}
