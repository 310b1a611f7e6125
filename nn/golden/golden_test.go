package golden

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ablate/graph"
	"ablate/ops/kernel"
)

// files lists the reference vectors of testdata by name.
func files(t testing.TB, pattern string) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/" + pattern + ".json.gz")
	if err != nil || len(all) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return all
}

// load unpacks one file.
func load(t testing.TB, path string) []byte {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The models of the reference vectors hold whatever instructions the kernels
// use. In float64 all paths run the same code.
func TestModelsHoldOnEveryPath(t *testing.T) {
	for _, path := range kernel.Paths() {
		restore, err := kernel.ForcePath(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files(t, "[ms]*") {
			r, err := Verify(filepath.Base(file), load(t, file), graph.Float32)
			if err != nil || !r.OK {
				t.Errorf("%s with %s: %v, %v", file, path, err, r.Problems)
			}
		}
		restore()
	}
}

func TestAllFilesHold(t *testing.T) {
	for _, path := range files(t, "*") {
		for _, dtype := range []graph.Dtype{graph.Float64, graph.Float32} {
			name := strings.TrimSuffix(filepath.Base(path), ".json.gz")
			t.Run(name+"/"+dtype.String(), func(t *testing.T) {
				r, err := Verify(name, load(t, path), dtype)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range r.Problems {
					t.Error(p)
				}
				text, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s", text)
			})
		}
	}
}
