//go:build !amd64

package graph

// pause is what other processors do without.
func pause(int) {}
