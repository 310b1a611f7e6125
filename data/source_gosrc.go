package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// gosrc is a corpus that every machine with Go has: the .go files under src of the installed tree, without directories called testdata
// or vendor, one after the other in byte order of their slash-separated paths, cut after Config.Limit bytes. It depends on the version
// of Go, which the description names; results to be compared across machines need a corpus of one hash.
var gosrc = Source{
	Name: "gosrc",
	Keys: []string{"tokenizer", "limit"},
	Load: loadGosrc,
}

// gosrcInstead is what to do where there is no tree.
const gosrcInstead = "install Go or set GOROOT to its tree, or use a text of your own: source text and its path"

func loadGosrc(cfg Config) (*Material, error) {
	root, err := goroot()
	if err != nil {
		return nil, &Error{Source: cfg.Source, Reason: "finds no Go tree (" + gosrcInstead + ")", Err: err}
	}
	fail := func(err error) (*Material, error) {
		return nil, &Error{Source: cfg.Source, Path: root, Reason: "is not a Go tree that can be read (" + gosrcInstead + ")", Err: err}
	}
	src := os.DirFS(filepath.Join(root, "src"))
	names, size, err := goFiles(src)
	if err != nil {
		return fail(fmt.Errorf("under src: %w", err))
	}
	if len(names) == 0 {
		return fail(errors.New("no .go file under src"))
	}
	text, used, err := concatenate(src, names, min(size, cfg.Limit), cfg.Limit)
	if err != nil {
		return fail(err)
	}
	return &Material{
		Text: text,
		Hash: hash(text),
		Describe: fmt.Sprintf("source tree of %s, %d of its %d .go files, %d bytes (limit %d)",
			goVersion(root), used, len(names), len(text), cfg.Limit),
	}, nil
}

// goroot finds the root of the installed Go: the variable GOROOT, or else what the go command says. runtime.GOROOT is no help: it is
// deprecated, and empty or of another machine in a binary that was built elsewhere.
func goroot() (string, error) {
	if root := os.Getenv("GOROOT"); root != "" {
		return root, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // it takes milliseconds; a wrapper that hangs must not hang us
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT")
	// The installed tree, wherever the command is started: a go.mod nearby must not make the go command fetch another toolchain.
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", fmt.Errorf("go env GOROOT: %w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return "", err
	}
	root := strings.TrimSpace(string(out))
	if root == "" {
		return "", errors.New("go env GOROOT prints nothing")
	}
	return root, nil
}

// goFiles lists the .go files below a tree in byte order of their paths, and adds up their sizes. Symbolic links inside the tree are
// not followed.
func goFiles(tree fs.FS) (names []string, size int64, err error) {
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "testdata" || base == "vendor" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || path.Ext(name) != ".go" {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		names, size = append(names, name), size+info.Size()
		return nil
	})
	slices.Sort(names) // the walk visits a/b.go before a-b.go, and bytes say otherwise
	return names, size, err
}

// concatenate reads the files one after the other up to limit bytes, and says how many it took. size is the expected total.
func concatenate(tree fs.FS, names []string, size, limit int64) (text []byte, used int, err error) {
	text = make([]byte, 0, size)
	for _, name := range names {
		room := limit - int64(len(text))
		if room == 0 {
			break
		}
		f, err := tree.Open(name)
		if err != nil {
			return nil, 0, err
		}
		raw, err := readFile(f)
		f.Close()
		if err != nil {
			return nil, 0, fmt.Errorf("%q: %w", name, err)
		}
		text = append(text, raw[:min(room, int64(len(raw)))]...)
		used++
	}
	return text, used, nil
}

// goVersion returns the first line of the tree's VERSION file, for example go1.26.0. A tree built from a checkout of the repository
// has no such file.
func goVersion(root string) string {
	raw, err := readNamed(filepath.Join(root, "VERSION"))
	line, _, _ := strings.Cut(string(raw), "\n")
	if line = strings.TrimSpace(line); err != nil || line == "" {
		return "Go of an unknown version (no VERSION file)"
	}
	return line
}
