// Package metrics holds the records of a training run and where they go: one
// Step a step, rows of Layer wherever the probes looked, Timing for the clock,
// and one Summary at the end.
//
// The files are JSON lines. Their bytes are a pure function of the numbers
// (field order fixed, shortest decimal that reads back exactly), which is what
// lets a resumed run be compared byte for byte with an unbroken one. Wall-clock
// figures live in a file of their own, outside of that promise.
//
// JSON has no NaN and no infinity, and a diverged run is made of them: they are
// written as the strings "NaN", "+Inf" and "-Inf". A number that was not
// measured is null, which is something else again.
//
// Nothing here knows of graphs, models or trainers; a report is drawn from
// these files a year later by a program that has none of them.
package metrics
