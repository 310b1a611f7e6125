package kernel

import (
	"slices"
	"testing"
)

// TestOwnChangesNothing, wherever a slice begins and ends.
func TestOwnChangesNothing(t *testing.T) {
	x := normals[float32](1, 200)
	before := slices.Clone(x)
	for from := range 20 {
		for n := range 100 {
			own(x[from : from+n+1])
		}
	}
	if !slices.Equal(x, before) {
		t.Error("what was there is another number now")
	}
}
