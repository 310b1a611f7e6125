//go:build race

package ops_test

// raced says that the race detector is on, under which pools forget on purpose.
const raced = true
