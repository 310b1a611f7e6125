package presets_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"ablate/nn/presets"
)

func TestNames(t *testing.T) {
	names := presets.Names()
	if !slices.IsSorted(names) || len(names) < 52 {
		t.Errorf("%d names, sorted %v", len(names), slices.IsSorted(names))
	}
	for _, name := range names {
		text, tiny, err := presets.Get(name)
		if err != nil || len(text) == 0 || tiny != strings.HasSuffix(name, presets.Tiny) || !regexp.MustCompile(`^[a-z0-9.-]+$`).MatchString(name) {
			t.Errorf("%s: %d bytes, tiny %v, %v", name, len(text), tiny, err)
		}
	}
	for _, name := range []string{"", "-tiny", "gpt2-tiny-tiny", "../presets", "GPT2"} {
		if _, _, err := presets.Get(name); err == nil {
			t.Errorf("there is a preset %q", name)
		}
	}
}
