package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReliabilityNamesRealTests holds docs/reliability.md against the tests that there
// are: each `TestName` is one, in the package that stands before it.
func TestReliabilityNamesRealTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string][]string{} // packages by test
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err = filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(source, -1) {
			declared[string(m[1])] = append(declared[string(m[1])], filepath.Base(filepath.Dir(path)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	group := regexp.MustCompile("((?:\\w+, )*\\w+): ((?:`(?:Test|Fuzz)\\w+`[^`;|]*)+)")
	for _, m := range group.FindAllSubmatch(text, -1) {
		for _, test := range regexp.MustCompile("`(\\w+)`").FindAllSubmatch(m[2], -1) {
			named++
			for pkg := range strings.SplitSeq(string(m[1]), ", ") {
				if !slices.Contains(declared[string(test[1])], pkg) {
					t.Errorf("%s is no test of package %s", test[1], pkg)
				}
			}
		}
	}
	if all := len(regexp.MustCompile("`(?:Test|Fuzz)\\w+`").FindAll(text, -1)); named < 90 || all-named > 3 {
		t.Errorf("%d of %d names stand behind a package", named, all)
	}
}
