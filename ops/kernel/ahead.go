package kernel

// Upcoming is memory that the caller will touch after the product at hand, piece by piece. A product in
// assembly asks for a line of it at every step of k, or every few, while it multiplies: what would have been
// waited for later, in short stretches that the processor cannot foresee, then is in the second-level cache.
// It has no influence on any result.
type Upcoming interface {
	// Ahead is what is to be fetched next, empty if there is nothing.
	Ahead() []byte
	// Fetched drops the first n bytes of what Ahead gave.
	Fetched(n int)
}
