package train

import (
	"time"

	"ablate/train/metrics"
)

// Progress is where a run stands.
type Progress struct {
	Step, Steps int           // updates made, and to make
	Loss        float64       // of the last step; NaN before the first
	GradNorm    float64       // of the last step, before clipping; NaN before the first
	ValLoss     metrics.Value // of the last evaluation
	TokensPerS  float64       // target tokens a second in this session's steps
	Elapsed     time.Duration // of this session
	ETA         time.Duration // to the last step, at this session's pace; 0 before its first step
	Evaluated   float64       // share of the evaluation under way, in (0, 1]; 0 during training
}

// clock measures a session: the part of a run since its start or its resumption.
// Its readings go to timing.jsonl and to people, never into a result.
type clock struct {
	now func() time.Duration // monotonic, since the session began

	steps    int           // of this session
	tokens   int64         // target tokens in them
	training time.Duration // spent in them, without evaluations and checkpoints

	reading time.Duration // of the last row of timing
	read    int64         // tokens then
}

func newClock() clock {
	start := time.Now()
	return clock{now: func() time.Duration { return time.Since(start) }}
}

// stepped counts a step that began at the given reading.
func (c *clock) stepped(start time.Duration, tokens int) {
	c.training += c.now() - start
	c.steps++
	c.tokens += int64(tokens)
}

// tokensPerS is the speed of this session's steps; 0 before the first.
func (c *clock) tokensPerS() float64 { return rate(c.tokens, c.training) }

// eta is how long steps more steps take at this session's pace, evaluations
// and checkpoints included.
func (c *clock) eta(steps int) time.Duration {
	if c.steps == 0 || steps <= 0 {
		return 0
	}
	return time.Duration(float64(c.now()) / float64(c.steps) * float64(steps))
}

// timingInterval is the least time between two rows of timing.
const timingInterval = time.Second

// timing gives a row if the last one is old enough, or if it must be.
func (c *clock) timing(step int, must bool) (row metrics.Timing, due bool) {
	now := c.now()
	if now-c.reading < timingInterval && !must {
		return row, false
	}
	row = metrics.Timing{
		Step:       int64(step),
		Seconds:    metrics.Known(now.Seconds()),
		TokensPerS: metrics.Known(rate(c.tokens-c.read, now-c.reading)),
	}
	c.reading, c.read = now, c.tokens
	return row, true
}

func rate(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}
