package results

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ablate/train/metrics"
)

// Gate is a condition on a number of a run's summary, such as val_ppl>12.
type Gate struct {
	Text, Metric, Op string
	Limit            float64
}

// gateOps are the comparisons of a gate; the longer ones come first, so that <= is
// not read as <.
var gateOps = []string{"<=", ">=", "<", ">"}

// UnknownMetric is a gate on a number that no summary has.
type UnknownMetric struct {
	Metric string
	Known  []string
}

func (e *UnknownMetric) Error() string {
	return fmt.Sprintf("no metric %q; there are %s", e.Metric, strings.Join(e.Known, ", "))
}

// ParseGate reads METRIC OP NUMBER.
func ParseGate(text string) (Gate, error) {
	for _, op := range gateOps {
		metric, limit, ok := strings.Cut(text, op)
		if !ok {
			continue
		}
		g := Gate{Text: text, Metric: strings.TrimSpace(metric), Op: op}
		var err error
		if g.Limit, err = strconv.ParseFloat(strings.TrimSpace(limit), 64); err != nil || math.IsNaN(g.Limit) || math.IsInf(g.Limit, 0) {
			return Gate{}, fmt.Errorf("%q is not a number", limit)
		}
		if known := SummaryMetrics(); !slices.Contains(known, g.Metric) {
			return Gate{}, &UnknownMetric{g.Metric, known}
		}
		return g, nil
	}
	return Gate{}, fmt.Errorf("a condition is METRIC, one of %s, and a number", strings.Join(gateOps, " "))
}

// Fails says whether the condition holds, and why. A number that is unknown or not
// finite fails every gate: it is passed by a number only.
func (g Gate) Fails(s metrics.Summary) (why string, failed bool) {
	v := summaryNumbers(s)[g.Metric]
	x, known := v.Get()
	if !known || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Sprintf("%s is %v", g.Metric, v), true
	}
	holds := map[string]bool{"<": x < g.Limit, ">": x > g.Limit, "<=": x <= g.Limit, ">=": x >= g.Limit}[g.Op]
	return fmt.Sprintf("%s is %.6g", g.Metric, x), holds
}

// SummaryMetrics lists the numbers of a summary by their names in JSON.
func SummaryMetrics() []string {
	var names []string
	for name := range summaryNumbers(metrics.Summary{}) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// summaryWords are the fields of a summary that are no numbers.
var summaryWords = []string{"id", "dir", "status", "config_hash", "data_hash", "weights_sha256"}

func summaryNumbers(s metrics.Summary) map[string]metrics.Value {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a summary is plain data
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		panic(err) // it was just written
	}
	out := map[string]metrics.Value{}
	for name, raw := range fields {
		var v metrics.Value
		if !slices.Contains(summaryWords, name) && json.Unmarshal(raw, &v) == nil {
			out[name] = v
		}
	}
	return out
}
