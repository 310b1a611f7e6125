package graph_test

import (
	"bytes"
	"strings"
	"testing"

	"ablate/graph"
)

func TestDumps(t *testing.T) {
	g, err := graph.Build(graph.Float32, chain(2))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := graph.NewPlan(g)
	if err != nil {
		t.Fatal(err)
	}
	var text, dot, program bytes.Buffer
	for _, err := range []error{g.Dump(&text), g.DOT(&dot), plan.Dump(&program)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, d := range map[string]string{"text": text.String(), "DOT": dot.String()} {
		for _, want := range []string{"block.1.w", "scaleGrad", "add", "tanh", "(3, 4, 5)"} {
			if !strings.Contains(d, want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
	}
	if d := dot.String(); !strings.HasPrefix(d, "digraph ") || !strings.HasSuffix(d, "}\n") {
		t.Errorf("no DOT:\n%.300s", dot.String())
	}
	if n := strings.Count(program.String(), "\n"); n != plan.Stats.Tasks {
		t.Errorf("%d lines for %d tasks", n, plan.Stats.Tasks)
	}
	if !strings.Contains(program.String(), "rows/3") || !strings.Contains(program.String(), "d block.0.w") {
		t.Errorf("the program names neither parts nor gradients:\n%.300s", program.String())
	}
}
