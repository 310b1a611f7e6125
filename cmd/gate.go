package cmd

import (
	"errors"
	"fmt"
	"strings"

	"ablate/experiments/config"
	"ablate/experiments/results"
	"ablate/train/metrics"
)

// parseGates reads the conditions of --fail-if.
func parseGates(texts []string) ([]results.Gate, error) {
	var gates []results.Gate
	for _, text := range texts {
		g, err := results.ParseGate(text)
		if unknown, ok := errors.AsType[*results.UnknownMetric](err); ok {
			return nil, usageErrorf("--fail-if %q: %w%s", text, err, didYouMean(config.Suggest(unknown.Metric, unknown.Known)))
		}
		if err != nil {
			return nil, usageErrorf("--fail-if %q: %w", text, err)
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// checkGates gives an error with exit code 7 that names every condition that
// held.
func checkGates(gates []results.Gate, runs []metrics.Summary) error {
	var held []string
	for _, g := range gates {
		for _, s := range runs {
			if why, failed := g.Fails(s); failed {
				held = append(held, fmt.Sprintf("--fail-if %q: run %s: %s", g.Text, s.ID, why))
			}
		}
	}
	if held == nil {
		return nil
	}
	return &exitError{exitGate, errors.New(strings.Join(held, "\n"))}
}
