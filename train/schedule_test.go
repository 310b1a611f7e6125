package train

import (
	"math"
	"testing"
)

func TestLearningRate(t *testing.T) {
	type at map[int]float64
	for _, c := range []struct {
		schedule ScheduleName
		steps    int
		warmup   Warmup
		minLR    float64
		want     at
	}{
		{"cosine", 11, Warmup{}, 0, at{0: 1, 5: 0.5, 10: 0, 11: 0, 1000: 0}},
		{"cosine", 11, Warmup{}, 0.2, at{0: 1, 5: 0.6, 10: 0.2, 99: 0.2}},
		{"cosine", 15, Warmup{Steps: 4}, 0.1, at{0: 0.25, 1: 0.5, 3: 1, 4: 1, 9: 0.55, 14: 0.1, 15: 0.1}},
		{"cosine", 20, Warmup{Share: 0.25}, 0, at{0: 0.2, 4: 1, 5: 1, 12: 0.5, 19: 0}},
		{"cosine", 5, Warmup{Steps: 4}, 0.1, at{3: 1, 4: 0.1}},
		{"cosine", 1, Warmup{}, 0.1, at{0: 0.1}},
		{"cosine", 3, Warmup{Steps: 30}, 0.1, at{0: 1. / 30, 2: 0.1, 3: 0.1}},
		{"constant", 10, Warmup{Steps: 2}, 0.1, at{0: 0.5, 1: 1, 2: 1, 9: 1, 50: 1}},
		{"wsd", 20, Warmup{Steps: 2}, 0, at{0: 0.5, 2: 1, 15: 1, 16: 0.75, 17: 0.5, 19: 0, 30: 0}},
		{"wsd", 20, Warmup{Steps: 18}, 0.5, at{17: 1, 18: 0.75, 19: 0.5}},
		{"wsd", 1, Warmup{}, 0.25, at{0: 0.25}},
	} {
		cfg := testConfig()
		cfg.LR, cfg.Schedule, cfg.Steps, cfg.Warmup, cfg.MinLR = 2, c.schedule, c.steps, c.warmup, c.minLR
		for step, want := range c.want {
			if got := cfg.LearningRate(step); math.Abs(got-2*want) > 1e-12 {
				t.Errorf("%s over %d steps, warm-up %v, floor %v: lr·%v at step %d, want lr·%v", c.schedule, c.steps, c.warmup, c.minLR, got/2, step, want)
			}
		}
	}
}

// TestSchedules holds what every line of the table promises: positive from
// the first step, never above 1, no jump larger than the warm-up's or decay's
// slope, and the floor at the end for those that read it.
func TestSchedules(t *testing.T) {
	for _, s := range Schedules {
		for _, steps := range []int{1, 2, 3, 7, 100, 1001} {
			for _, warmup := range []int{0, 1, 10, 100, 2000} {
				cfg := testConfig()
				cfg.LR, cfg.Schedule, cfg.Steps, cfg.Warmup = 1, ScheduleName(s.Name), steps, Warmup{Steps: warmup}
				last := 0.0
				for step := range steps + 3 {
					lr := cfg.LearningRate(step)
					if !(lr > 0 && lr <= 1) || step < warmup && step < steps && lr <= last || step > warmup && lr > last {
						t.Fatalf("%s, %d steps, warm-up %d: %v at step %d after %v", s.Name, steps, warmup, lr, step, last)
					}
					last = lr
				}
				if len(s.Keys) > 0 && warmup < steps && math.Abs(last-cfg.MinLR) > 1e-12 {
					t.Errorf("%s, %d steps, warm-up %d: ends at %v, not at %v", s.Name, steps, warmup, last, cfg.MinLR)
				}
			}
		}
	}
}

// TestConstantContinues: under a constant schedule a longer run begins like
// the shorter one, which is what makes it a continuation.
func TestConstantContinues(t *testing.T) {
	short, long := testConfig(), testConfig()
	short.Schedule, long.Schedule, long.Steps = "constant", "constant", 100
	for step := range short.Steps {
		if a, b := short.LearningRate(step), long.LearningRate(step); a != b {
			t.Errorf("step %d: %v and %v", step, a, b)
		}
	}
}
