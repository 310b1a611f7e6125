package sweep

import (
	"sync"

	"ablate/train"
)

// Progress is told what happens while cells run. Calls come from several goroutines,
// but one at a time; they should return quickly.
type Progress interface {
	// Started says that a cell begins, or continues, at a step.
	Started(c *Cell, step int64)
	// Step says how a cell stands, after every step and during evaluations.
	Step(c *Cell, p train.Progress)
	// Note says something that a person should know, such as a checkpoint passed over.
	Note(c *Cell, text string)
	// Finished says how a cell ended, was found finished, or failed.
	Finished(o Outcome)
}

// Silent is a Progress that tells nobody.
type Silent struct{}

// Started implements Progress.
func (Silent) Started(*Cell, int64) {}

// Step implements Progress.
func (Silent) Step(*Cell, train.Progress) {}

// Note implements Progress.
func (Silent) Note(*Cell, string) {}

// Finished implements Progress.
func (Silent) Finished(Outcome) {}

// oneAtATime lets calls through one by one.
type oneAtATime struct {
	mu sync.Mutex
	to Progress
}

func (p *oneAtATime) Started(c *Cell, step int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to.Started(c, step)
}

func (p *oneAtATime) Step(c *Cell, s train.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to.Step(c, s)
}

func (p *oneAtATime) Note(c *Cell, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to.Note(c, text)
}

func (p *oneAtATime) Finished(o Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to.Finished(o)
}
