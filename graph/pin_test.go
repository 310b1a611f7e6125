package graph_test

import (
	"os"
	"strings"
	"testing"
)

// Gorgonia pulls in a package that panics at start on Go releases it does not
// know (gorgonia #523). The version pinned in go.mod knows that it may run; an
// update that loses the pin must fail here and not at a user's.
func TestMovingGCPin(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, pin := range []string{
		"go4.org/unsafe/assume-no-moving-gc v0.0.0-20231121144256-b99613f794b6",
		"github.com/chewxy/hm v1.0.0",
	} {
		if !strings.Contains(string(mod), pin) {
			t.Errorf("go.mod no longer requires %s", pin)
		}
	}
}
