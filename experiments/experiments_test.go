package experiments_test

import (
	"strings"
	"testing"

	"ablate/experiments"
)

func TestNamesAndTexts(t *testing.T) {
	names := experiments.Names()
	if len(names) < 2 {
		t.Fatalf("shipped are %v", names)
	}
	for _, name := range names {
		text, err := experiments.Get(name)
		if err != nil || !strings.Contains(string(text), "\nname: "+name+"\n") {
			t.Errorf("%s does not bear its name (%v)", name, err)
		}
	}
}

func TestUnknownName(t *testing.T) {
	for _, name := range []string{"dept", "", "../depth", "depth.yaml"} {
		if _, err := experiments.Get(name); err == nil || !strings.Contains(err.Error(), "shipped are depth, ffn") {
			t.Errorf("error for %q is %v", name, err)
		}
	}
}
