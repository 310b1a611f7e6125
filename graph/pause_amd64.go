package graph

// pause tells the processor n times, at least once, that this thread only waits. One that shares its core with
// another thread leaves it to that one for some ten nanoseconds each time.
func pause(n int)
