// Testsum reads the events of `go test -json` from standard input, prints what
// failed or was skipped and why, and closes with one line that says how many
// tests ran. It exits 1 if anything failed, or if nothing ran at all.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	ok, err := summarise(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// summary is what has been seen of all packages.
type summary struct {
	out                     io.Writer
	passed, failed, skipped int
	open                    map[string]*tests // by package
}

// tests is what a package has said and nobody has judged yet. The last words of a process that dies are
// those of a test that never ends.
type tests struct {
	order  []string            // of their first words; "" is the package itself
	said   map[string][]string // by test
	failed bool
}

// summarise reports whether something ran and all of it passed.
func summarise(in io.Reader, out io.Writer) (bool, error) {
	s := summary{out: out, open: map[string]*tests{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(out, lines.Text()) // the compiler's own words
			continue
		}
		s.add(e)
	}
	for _, name := range slices.Sorted(maps.Keys(s.open)) {
		if name != "" { // go test itself has died
			s.endPackage(event{Action: "fail", Package: name}, s.open[name])
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	return s.failed == 0 && s.passed > 0, lines.Err()
}

func (s *summary) add(e event) {
	t := s.open[e.Package]
	if t == nil {
		t = &tests{said: map[string][]string{}}
		s.open[e.Package] = t
	}
	switch {
	case e.Action == "output" || e.Action == "build-output":
		if t.said[e.Test] == nil {
			t.order = append(t.order, e.Test)
		}
		t.said[e.Test] = append(t.said[e.Test], e.Output)
	case e.Action == "build-fail":
		delete(s.open, e.Package)
		fmt.Fprint(s.out, t.take(""))
	case e.Test == "":
		s.endPackage(e, t)
	default:
		s.endTest(e, t)
	}
}

func (s *summary) endTest(e event, t *tests) {
	switch e.Action {
	case "pass":
		s.passed++
		t.take(e.Test)
	case "fail":
		s.failed++
		t.failed = true
		fmt.Fprint(s.out, t.take(e.Test))
	case "skip":
		s.skipped++
		fmt.Fprintf(s.out, "skip %s %s\n%s", e.Package, e.Test, t.take(e.Test))
	}
}

func (s *summary) endPackage(e event, t *tests) {
	switch e.Action {
	case "pass":
		delete(s.open, e.Package)
		fmt.Fprintf(s.out, "ok   %s  %.1fs\n", e.Package, e.Elapsed)
	case "skip": // it has no tests
		delete(s.open, e.Package)
	case "fail":
		delete(s.open, e.Package)
		fmt.Fprintf(s.out, "FAIL %s  %.1fs\n", e.Package, e.Elapsed)
		for _, name := range t.order {
			fmt.Fprint(s.out, t.take(name)) // what no test that ended has said
		}
		if !t.failed {
			s.failed++ // it did not build, or died outside of a test that ended
		}
	}
}

// take returns what a test has said, once.
func (t *tests) take(name string) string {
	words := strings.Join(t.said[name], "")
	delete(t.said, name)
	return words
}
