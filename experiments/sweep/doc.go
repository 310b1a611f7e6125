// Package sweep turns an experiment into runs.
//
// The way through the package is the way of the data:
//
//	Parse      text → Experiment: base, axes, seeds, what to match
//	With       quick or full profile, then the command line, laid over it
//	Plan       every cell decoded, checked, matched in size and given its identity, before anything runs
//	RunCell    one cell → its directory: trained, resumed, or found finished
//	Run        all cells of a plan, several at once
//
// A cell is what an experiment trains once: one value of each axis, and a seed. Its
// identity is a hash of everything that has a part in its numbers, so that a
// finished cell is never run again, wherever and by whomever it was run. RunCell is
// idempotent: a local pool, an array of a batch system and an indexed job of a
// cluster all call it.
package sweep
