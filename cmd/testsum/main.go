// Testsum reads the events of `go test -json` from standard input, prints what
// failed or was skipped and why, and closes with one line that says how many
// tests ran. It exits 1 if anything failed, or if nothing ran at all.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func main() {
	var passed, failed, skipped int
	output := map[string][]string{} // by package and test, until it is known to be uninteresting
	blamed := map[string]bool{}     // packages whose failure is counted
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Println(in.Text()) // the compiler's own words
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			output[key] = append(output[key], e.Output)
			continue
		case "pass":
			if e.Test != "" {
				passed++
			} else {
				fmt.Printf("ok   %s  %.1fs\n", e.Package, e.Elapsed)
			}
		case "fail", "build-fail":
			if e.Test != "" {
				failed++
			} else if e.Action == "fail" {
				fmt.Printf("FAIL %s  %.1fs\n", e.Package, e.Elapsed)
			}
			fmt.Print(strings.Join(output[key], ""))
			if e.Test == "" && e.Action == "fail" && !blamed[e.Package] {
				failed++ // a package that did not build, or died outside of a test
			}
			blamed[e.Package] = true
		case "skip":
			if e.Test != "" {
				skipped++
				fmt.Printf("skip %s %s\n%s", e.Package, e.Test, strings.Join(output[key], ""))
			}
		}
		if e.Action != "run" && e.Action != "start" {
			delete(output, key)
		}
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(1)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}
