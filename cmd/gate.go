package cmd

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ablate/experiments/config"
	"ablate/train/metrics"
)

// gate is a condition of --fail-if on a number of a run's summary.
type gate struct {
	text, metric, op string
	limit            float64
}

var gateOps = []string{"<=", ">=", "<", ">"}

// parseGates reads conditions such as val_ppl>12.
func parseGates(texts []string) ([]gate, error) {
	var gates []gate
	for _, text := range texts {
		g, err := parseGate(text)
		if err != nil {
			return nil, err
		}
		gates = append(gates, g)
	}
	return gates, nil
}

func parseGate(text string) (gate, error) {
	for _, op := range gateOps {
		metric, limit, ok := strings.Cut(text, op)
		if !ok {
			continue
		}
		metric = strings.TrimSpace(metric)
		x, err := strconv.ParseFloat(strings.TrimSpace(limit), 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return gate{}, usageErrorf("--fail-if %q: %q is not a number", text, limit)
		}
		if known := summaryNumbers(metrics.Summary{}); !slices.Contains(known.names, metric) {
			return gate{}, usageErrorf("--fail-if %q: no metric %q; there are %s%s", text, metric, strings.Join(known.names, ", "),
				didYouMean(config.Suggest(metric, known.names)))
		}
		return gate{text, metric, op, x}, nil
	}
	return gate{}, usageErrorf("--fail-if %q: a condition is METRIC, one of %s, and a number", text, strings.Join(gateOps, " "))
}

// numbers are the numeric fields of a summary by their JSON names.
type numbers struct {
	names  []string
	values map[string]metrics.Value
}

func summaryNumbers(s metrics.Summary) numbers {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a summary is plain data
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		panic(err)
	}
	n := numbers{values: map[string]metrics.Value{}}
	words := []string{"id", "dir", "status", "config_hash", "data_hash", "weights_sha256"}
	for name, raw := range fields {
		if slices.Contains(words, name) {
			continue
		}
		var v metrics.Value
		if json.Unmarshal(raw, &v) == nil {
			n.names = append(n.names, name)
			n.values[name] = v
		}
	}
	slices.Sort(n.names)
	return n
}

// fails says whether the condition holds, and why. A number that is unknown or
// not finite fails every condition: a gate is passed by a number only.
func (g gate) fails(s metrics.Summary) (why string, failed bool) {
	v := summaryNumbers(s).values[g.metric]
	x, known := v.Get()
	if !known || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Sprintf("%s is %v", g.metric, v), true
	}
	holds := map[string]bool{"<": x < g.limit, ">": x > g.limit, "<=": x <= g.limit, ">=": x >= g.limit}[g.op]
	return fmt.Sprintf("%s is %.6g", g.metric, x), holds
}

// checkGates gives an error with exit code 7 that names every condition that
// held.
func checkGates(gates []gate, runs []metrics.Summary) error {
	var held []string
	for _, g := range gates {
		for _, s := range runs {
			if why, failed := g.fails(s); failed {
				held = append(held, fmt.Sprintf("--fail-if %q: run %s: %s", g.text, s.ID, why))
			}
		}
	}
	if held == nil {
		return nil
	}
	return &exitError{exitGate, fmt.Errorf("%s", strings.Join(held, "\n"))}
}
