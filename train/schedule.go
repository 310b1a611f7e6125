package train

// Schedule is the course of the learning rate after warm-up.
type Schedule struct {
	Name string
	Keys []string // which of Config's optional keys it reads

	// Factor is the share of the highest learning rate at a step that warm-up
	// has left behind, warmup ≤ step < steps. floor is the share to end at. It
	// is a pure function, so that a run can continue from any step.
	Factor func(step, warmup, steps int, floor float64) float64
}

// Schedules is the table of schedules, in the order in which they are listed
// to people.
var Schedules = []Schedule{cosine, constant, wsd}

// ScheduleName is the name of a schedule in the table.
type ScheduleName string

// ConfigEnum lists the names of the table.
func (ScheduleName) ConfigEnum() []string {
	names := make([]string, len(Schedules))
	for i, s := range Schedules {
		names[i] = s.Name
	}
	return names
}

func lookupSchedule(name ScheduleName) (Schedule, bool) {
	for _, s := range Schedules {
		if s.Name == string(name) {
			return s, true
		}
	}
	return Schedule{}, false
}

// LearningRate is the learning rate of the update at a step, counted from 0:
//
//	lr·(step+1)/warmup             during warm-up, so the first update is not lost
//	lr·Factor(step)                afterwards
//	that of the last step          from the end on
//
// The configuration must be valid.
func (c Config) LearningRate(step int) float64 {
	warmup := c.Warmup.Of(c.Steps)
	step = min(step, c.Steps-1)
	if step < warmup {
		return c.LR * float64(step+1) / float64(warmup)
	}
	s, ok := lookupSchedule(c.Schedule)
	if !ok {
		panic("train: no schedule " + string(c.Schedule))
	}
	return c.LR * s.Factor(step, warmup, c.Steps, c.MinLR)
}
