package cmd

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestVerifyIndex: an index among the files counts as none of them, but all that it lists must be there.
func TestVerifyIndex(t *testing.T) {
	const slopes, silu = "op_alibi_slopes_h4", "op_silu"
	var files []string
	for _, name := range []string{slopes, silu} {
		file, err := filepath.Abs(filepath.Join("..", "nn", "golden", "testdata", name+".json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	w := newWorkbench(t)
	both := strings.Join(files, " ")
	w.write("index.json", `["`+slopes+`", "`+silu+`"]`)
	if out := w.want(exitDone, "verify index.json "+both); !strings.Contains(out, "2 of 2 files hold") {
		t.Errorf("with an index: %s", out)
	}
	w.want(exitUsage, "verify index.json "+files[0], "index.json lists "+silu+", which is not among the files (1 of 2 are missing)")
	for _, text := range []string{"[]", "[1]", "{", "{}"} {
		w.write("index.json", text)
		w.want(exitUsage, "verify index.json "+both, "index.json")
	}
	w.want(exitUsage, "verify nosuch/index.json", "nosuch/index.json")
}
