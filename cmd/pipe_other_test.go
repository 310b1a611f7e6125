//go:build !unix

package cmd

import "testing"

// makePipe makes a named pipe where there are such.
func makePipe(*testing.T, string) bool { return false }
