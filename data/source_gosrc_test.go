package data_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ablate/data"
)

// goTree writes a tree of these files and makes it the installed Go.
func goTree(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOROOT", root)
	return root
}

var smallTree = map[string]string{
	"VERSION":                   "go1.99.1\ntime 2030-01-01T00:00:00Z\n",
	"README.go":                 "not under src",
	"src/z.go":                  "[z]",
	"src/Z.go":                  "[Z]",
	"src/a/b.go":                "[a/b]",
	"src/a/b_test.go":           "[a/b_test]",
	"src/a-b/c.go":              "[a-b/c]", // '-' comes before '/': byte order of paths is not the order of a walk
	"src/a.go":                  "[a]",
	"src/a/b.s":                 "not Go",
	"src/a/go":                  "not Go",
	"src/a/testdata/t.go":       "test data",
	"src/a/testdata/deep/t.go":  "test data",
	"src/vendor/v/v.go":         "vendored",
	"src/cmd/vendor/v/v.go":     "vendored",
	"src/a/testdata.go":         "[a/testdata.go]",
	"src/cmd/vendored/v.go":     "[vendored]",
	"src/cmd/dir.go/inside.go":  "[inside]",
	"src/cmd/dir.go/inside.txt": "not Go",
}

const smallText = "[Z][a-b/c][a][a/b][a/b_test][a/testdata.go][inside][vendored][z]"

func openGosrc(limit int64) (*data.Corpus, error) {
	return data.Open(data.Config{Source: "gosrc", Tokenizer: "byte", Validation: 0.25, Limit: limit}, 2)
}

func decode(t *testing.T, tokens data.Tokens) string {
	t.Helper()
	tokenizer, err := data.LookupTokenizer("byte")
	if err != nil {
		t.Fatal(err)
	}
	text, err := tokenizer.Decode(all(tokens))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGosrcFilesOrderAndLimit(t *testing.T) {
	goTree(t, smallTree)
	for _, limit := range []int64{1 << 62, 33554432, int64(len(smallText)), int64(len(smallText)) - 1, 31, 30} {
		want := smallText[:min(limit, int64(len(smallText)))]
		corpus, err := openGosrc(limit)
		if err != nil {
			t.Fatal(err)
		}
		if corpus.Hash != sha([]byte(want)) {
			t.Errorf("limit %d: the text is not %q", limit, want)
		}
		if train := decode(t, corpus.Train); !strings.HasPrefix(want, train) {
			t.Errorf("limit %d: training part %q", limit, train)
		}
		if held := decode(t, corpus.Validation); !strings.HasSuffix(want, held) {
			t.Errorf("limit %d: validation part %q", limit, held)
		}
	}
	corpus, err := openGosrc(30)
	if err != nil {
		t.Fatal(err)
	}
	if want := "source tree of go1.99.1, 6 of its 9 .go files, 30 bytes (limit 30)"; corpus.Describe != want {
		t.Errorf("got %q, want %q", corpus.Describe, want)
	}
}

// Some distributions install src as a link to a shared place.
func TestGosrcFollowsLinkToSrc(t *testing.T) {
	root := goTree(t, smallTree)
	if err := os.Rename(filepath.Join(root, "src"), filepath.Join(root, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", filepath.Join(root, "src")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	corpus, err := openGosrc(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if corpus.Hash != sha([]byte(smallText)) {
		t.Error("another text than that of the tree without the link")
	}
}

func TestGosrcWithoutVersionFile(t *testing.T) {
	root := goTree(t, smallTree)
	if err := os.Remove(filepath.Join(root, "VERSION")); err != nil {
		t.Fatal(err)
	}
	corpus, err := openGosrc(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(corpus.Describe, "unknown version") {
		t.Errorf("got %q", corpus.Describe)
	}
}

func TestGosrcNoTree(t *testing.T) {
	const instead = "source text"
	t.Run("GOROOT is nowhere", func(t *testing.T) {
		t.Setenv("GOROOT", filepath.Join(t.TempDir(), "nowhere"))
		_, err := openGosrc(1 << 20)
		wantDataError(t, err, "nowhere", instead)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v does not wrap fs.ErrNotExist", err)
		}
	})
	t.Run("GOROOT is empty", func(t *testing.T) {
		root := goTree(t, map[string]string{"src/README": "no Go here"})
		_, err := openGosrc(1 << 20)
		wantDataError(t, err, filepath.Base(root), "no .go file", instead)
	})
	t.Run("no Go at all", func(t *testing.T) {
		t.Setenv("GOROOT", "")
		t.Setenv("PATH", t.TempDir())
		_, err := openGosrc(1 << 20)
		wantDataError(t, err, "GOROOT", instead)
	})
	t.Run("the go command fails", func(t *testing.T) {
		fakeGo(t, "echo broken installation >&2; exit 3")
		_, err := openGosrc(1 << 20)
		wantDataError(t, err, "broken installation", instead)
	})
	t.Run("the go command knows none", func(t *testing.T) {
		fakeGo(t, "echo")
		_, err := openGosrc(1 << 20)
		wantDataError(t, err, "prints nothing", instead)
	})
}

// Without the variable, the go command is asked.
func TestGosrcAsksGoCommand(t *testing.T) {
	root := goTree(t, smallTree)
	fakeGo(t, `[ "$1 $2 $GOTOOLCHAIN" = "env GOROOT local" ] && echo '`+root+`'`)
	corpus, err := openGosrc(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if corpus.Hash != sha([]byte(smallText)) {
		t.Error("another text than that of the tree")
	}
}

// fakeGo makes a shell script the only go command, and unsets GOROOT.
func fakeGo(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOROOT", "")
	t.Setenv("PATH", dir)
}

// The tree that runs this test is a corpus.
func TestGosrcInstalled(t *testing.T) {
	corpus, err := data.Open(data.Config{Source: "gosrc", Tokenizer: "byte", Validation: 0.1, Limit: 4 << 20}, 128)
	if err != nil {
		t.Fatal(err)
	}
	if total := corpus.Train.Len() + 128 + corpus.Validation.Len(); total != 4<<20 {
		t.Errorf("%d bytes, want %d", total, 4<<20)
	}
	if start := decode(t, corpus.Train.Slice(0, 12)); start != "// Copyright" {
		t.Errorf("the text starts with %q", start)
	}
	if !strings.Contains(corpus.Describe, "source tree of go") && !strings.Contains(corpus.Describe, "unknown version") {
		t.Errorf("%q names no version", corpus.Describe)
	}
}
