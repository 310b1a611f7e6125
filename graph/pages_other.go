//go:build !linux

package graph

// adviseLargePages does nothing: only Linux is known to want to be asked.
func adviseLargePages([]byte) {}
