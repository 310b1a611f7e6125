package main

import (
	"strings"
	"testing"
)

// Events as `go test -json` gives them, without times.
const (
	passes = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestFine"}
{"Action":"output","Package":"p","Test":"TestFine","Output":"a secret\n"}
{"Action":"pass","Package":"p","Test":"TestFine"}
`
	ends = `{"Action":"output","Package":"p","Output":"ok p\n"}
{"Action":"pass","Package":"p","Elapsed":1.5}
`
	fails = `{"Action":"output","Package":"p","Output":"FAIL p\n"}
{"Action":"fail","Package":"p","Elapsed":0.5}
`
	waits = `{"Action":"run","Package":"p","Test":"TestWaits"}
{"Action":"output","Package":"p","Test":"TestWaits","Output":"before the pause\n"}
{"Action":"pause","Package":"p","Test":"TestWaits"}
{"Action":"cont","Package":"p","Test":"TestWaits"}
{"Action":"output","Package":"p","Test":"TestWaits","Output":"after it\n"}
`
	dies = `{"Action":"run","Package":"p","Test":"TestDies"}
{"Action":"output","Package":"p","Test":"TestDies","Output":"=== RUN   TestDies\n"}
{"Action":"run","Package":"p","Test":"TestDies/inside"}
{"Action":"output","Package":"p","Test":"TestDies/inside","Output":"fatal error: checkptr\n"}
`
)

func TestSummarise(t *testing.T) {
	for _, c := range []struct {
		name, in string
		ok       bool
		want     string
	}{
		{"passes", passes + ends, true, "ok   p  1.5s\n1 passed, 0 failed, 0 skipped\n"},
		{"nothing ran", ends, false, "ok   p  1.5s\n0 passed, 0 failed, 0 skipped\n"},
		{"fails", passes + waits + `{"Action":"fail","Package":"p","Test":"TestWaits"}` + "\n" + fails, false,
			"before the pause\nafter it\nFAIL p  0.5s\nFAIL p\n1 passed, 1 failed, 0 skipped\n"},
		{"skips", passes + waits + `{"Action":"skip","Package":"p","Test":"TestWaits"}` + "\n" + ends, true,
			"skip p TestWaits\nbefore the pause\nafter it\nok   p  1.5s\n1 passed, 0 failed, 1 skipped\n"},
		{"dies in a test", passes + dies + fails, false,
			"FAIL p  0.5s\n=== RUN   TestDies\nfatal error: checkptr\nFAIL p\n1 passed, 1 failed, 0 skipped\n"},
		{"go test dies", passes + dies, false,
			"FAIL p  0.0s\n=== RUN   TestDies\nfatal error: checkptr\n1 passed, 1 failed, 0 skipped\n"},
		{"a package without tests", passes + ends + `{"Action":"start","Package":"q"}
{"Action":"output","Package":"q","Output":"?   q [no test files]\n"}
{"Action":"skip","Package":"q"}
`, true, "ok   p  1.5s\n1 passed, 0 failed, 0 skipped\n"},
		{"does not build", `# p
{"Action":"build-output","ImportPath":"p","Output":"undefined: x\n"}
{"Action":"build-fail","ImportPath":"p"}
` + fails + strings.ReplaceAll(passes+ends, `"p"`, `"q"`), false,
			"# p\nundefined: x\nFAIL p  0.5s\nFAIL p\nok   q  1.5s\n1 passed, 1 failed, 0 skipped\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			if ok, err := summarise(strings.NewReader(c.in), &out); ok != c.ok || err != nil || out.String() != c.want {
				t.Errorf("%v, %v, printed\n%s\nwant %v\n%s", ok, err, out.String(), c.ok, c.want)
			}
		})
	}
}
