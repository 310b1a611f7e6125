//go:build unix

package cmd

import (
	"syscall"
	"testing"
)

// makePipe makes a named pipe where there are such.
func makePipe(t *testing.T, name string) bool {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o666); err != nil {
		t.Fatal(err)
	}
	return true
}
