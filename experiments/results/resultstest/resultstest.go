// Package resultstest fabricates run directories, for the tests of what reads
// them. Its numbers are drawn from formulas that look like training; they are
// the result of nothing.
package resultstest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

// Spec says what to fabricate.
type Spec struct {
	YAML     string   // experiment.yaml
	Name     string   // in cells.json
	Axes     []string // "model.placement" and "model.layers" shape the numbers
	Arms     [][]any  // values of the axes
	Seeds    []int64
	Steps    int64 // updates of each run; 40 of them warm up
	Diverge  func(values []any, seed int64) bool
	Unstable func(values []any, step int64, layer int) float64 // factor on gradients; nil: 1
}

// Depth is two placements at three depths with two seeds; the deepest run of
// the first seed under post diverges.
func Depth() Spec {
	s := Spec{
		Name: "depth",
		YAML: `name: depth
question: Does the place of the norm decide whether a deep model trains?
paper: "Xiong 2020, arXiv:2002.04745"
expect: post trains at 2 layers and no longer at 24
show: [val_ppl, grad_profile, stream_profile, grad_heatmap, loss_curves]
`,
		Axes:  []string{"model.placement", "model.layers"},
		Seeds: []int64{1, 2},
		Steps: 300,
		Diverge: func(v []any, seed int64) bool {
			return v[0] == "post" && v[1] == 24 && seed == 1
		},
	}
	for _, p := range []any{"post", "pre"} {
		for _, l := range []any{2, 8, 24} {
			s.Arms = append(s.Arms, []any{p, l})
		}
	}
	return s
}

// Activations is six arms without an order, with five seeds.
func Activations() Spec {
	s := Spec{
		Name:  "ffn",
		YAML:  "name: ffn\nquestion: Which activation is best at equal parameters?\npaper: \"Shazeer 2020, arXiv:2002.05202\"\nshow: [val_ppl, loss_curves]\n",
		Axes:  []string{"model.activation"},
		Seeds: []int64{1, 2, 3, 4, 5},
		Steps: 200,
	}
	for _, a := range []any{"relu", "gelu", "silu", "reglu", "geglu", "swiglu"} {
		s.Arms = append(s.Arms, []any{a})
	}
	return s
}

// Write fabricates the directory.
func (s Spec) Write(t testing.TB, dir string) {
	t.Helper()
	cells := results.Cells{Format: results.Format, Name: s.Name, Axes: s.Axes}
	for _, values := range s.Arms {
		for _, seed := range s.Seeds {
			sum := sha256.Sum256(fmt.Append(nil, s.Name, values, seed))
			cells.Cells = append(cells.Cells, results.Cell{Index: len(cells.Cells), ID: hex.EncodeToString(sum[:6]), Values: values,
				Seed: seed, ConfigHash: hex.EncodeToString(sum[:]), Params: params(layers(s.Axes, values)), Status: metrics.Done})
		}
	}
	err := errors.Join(results.WriteFile(dir, results.ExperimentFile, []byte(s.YAML)), cells.Write(dir))
	for i := range cells.Cells {
		err = errors.Join(err, s.run(dir, &cells.Cells[i]))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func layers(axes []string, values []any) int {
	for i, a := range axes {
		if n, ok := values[i].(int); ok && a == results.DepthAxis {
			return n
		}
	}
	return 4
}

func params(layers int) int64 { return 256*64 + int64(layers)*12*64*64 }

func (s Spec) run(dir string, c *results.Cell) error {
	rel := results.CellDir(c.ID)
	path := filepath.Join(dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	sink, err := metrics.OpenFiles(path)
	if err != nil {
		return err
	}
	m := model{layers: layers(s.Axes, c.Values), post: c.Values[0] == "post", quality: quality(c.Values), steps: s.Steps,
		rng: rand.New(rand.NewPCG(uint64(c.Seed), uint64(c.Index))), factor: s.Unstable, values: c.Values}
	if s.Diverge != nil && s.Diverge(c.Values, c.Seed) {
		m.stop = s.Steps / 2
	}
	sum := m.train(sink)
	sum.ID, sum.Dir, sum.ConfigHash, sum.Params = c.ID, rel, c.ConfigHash, c.Params
	c.Status = sum.Status
	return errors.Join(sink.Close(),
		writeJSON(filepath.Join(path, results.SummaryFile), sum),
		writeJSON(filepath.Join(path, results.ManifestFile), m.manifest(c.ID, s.Name)))
}

// writeJSON does not wait for the disk, as results.WriteJSON would: a test has
// hundreds of these.
func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o666)
}

// quality moves the final loss of arms that have no depth.
func quality(values []any) (q float64) {
	for _, r := range fmt.Sprint(values[0]) {
		q += float64(r%7) / 200
	}
	return q
}

type model struct {
	layers  int
	post    bool
	quality float64
	steps   int64
	stop    int64 // step at which the loss is NaN; 0: never
	rng     *rand.Rand
	factor  func(values []any, step int64, layer int) float64
	values  []any
}

const warmup = 40

func (m *model) train(sink metrics.Sink) (sum metrics.Summary) {
	end := 2.35 + m.quality - 0.06*math.Log2(float64(m.layers)) + 0.02*m.rng.NormFloat64()
	rate := 45.0
	if m.post {
		end += 0.004 * float64(m.layers*m.layers) / 4
		rate += 4 * float64(m.layers)
	}
	sum.Status = metrics.Done
	for step := int64(0); step <= m.steps; step++ {
		s := float64(step)
		lr := 1e-3 * min((s+1)/warmup, 1) * (0.55 + 0.45*math.Cos(math.Pi*s/float64(m.steps)))
		loss := end + (5.55-end)*math.Exp(-s/rate)
		row := metrics.Step{Step: step, Tokens: step * 512}
		if step < m.steps {
			row.LR, row.Loss = metrics.Known(lr), metrics.Known(loss+0.06*m.rng.NormFloat64())
			row.GradNorm, row.ClipCoef = metrics.Known(1.5*math.Exp(-s/80)+0.4), metrics.Known(min(1, 1/(1.5*math.Exp(-s/80)+0.4)))
		}
		if m.stop > 0 && step == m.stop {
			row.Loss, row.GradNorm = metrics.Known(math.NaN()), metrics.Known(math.Inf(1))
			sum.Status = metrics.Diverged
		}
		if step%100 == 0 || step == m.steps {
			row.ValLoss, row.ValPPL = metrics.Known(loss+0.05), metrics.Known(math.Exp(loss+0.05))
		}
		sink.Step(row)
		if step%10 == 0 && step < m.steps {
			sink.Layers(metrics.Split(m.probe(step)))
		}
		sum.Steps, sum.Tokens, sum.TokensPerS = step, row.Tokens, metrics.Known(21000/float64(m.layers))
		if row.Loss != (metrics.Value{}) {
			sum.TrainLoss, sum.GradNorm = row.Loss, row.GradNorm
		}
		if sum.Status == metrics.Diverged {
			sum.ValLoss, sum.ValPPL = metrics.Known(math.NaN()), metrics.Known(math.NaN())
			return sum
		}
		if row.ValLoss.Finite() {
			sum.ValLoss, sum.ValPPL = row.ValLoss, row.ValPPL
			sum.ValBPB = metrics.Known(row.ValLoss.Float() / math.Ln2)
		}
	}
	return sum
}

// probe gives a profile that rises towards the output under post, and falls under pre.
func (m *model) probe(step int64) (rows []metrics.Layer) {
	age := float64(step) / float64(m.steps)
	for l := range m.layers + 1 {
		x := float64(l) / float64(m.layers)
		slope := -0.6 * (1 - age)
		if m.post {
			slope = 0.12 * float64(m.layers) * (1 - 0.3*age)
		}
		g := math.Exp(slope*(x-1)*2.3+0.08*m.rng.NormFloat64()) * (0.6 - 0.4*age) / math.Sqrt(float64(m.layers))
		if m.factor != nil {
			g *= m.factor(m.values, step, l)
		}
		if l < m.layers {
			rows = append(rows,
				metrics.Layer{Step: step, Layer: l, Module: metrics.ModuleBlock, Quantity: metrics.GradNorm, Value: metrics.Known(g), Numel: 12 * 64 * 64},
				metrics.Layer{Step: step, Layer: l, Module: "attn.q", Quantity: metrics.GradNorm, Value: metrics.Known(g / 3), Numel: 64 * 64})
		}
		rows = append(rows, metrics.Layer{Step: step, Layer: l, Module: metrics.ModuleStream, Quantity: metrics.StreamGradRMSToken, Value: metrics.Known(g * 0.7), Numel: 32768})
	}
	return append(rows, metrics.Layer{Step: step, Layer: metrics.NoLayer, Module: "embedding", Quantity: metrics.GradNorm, Value: metrics.Known(0.2), Numel: 16384})
}

func (m *model) manifest(id, name string) map[string]any {
	place := "x + F(N1(x))"
	norms := 2
	if m.post {
		place = "N1(x + F(x))"
	}
	n := params(m.layers)
	return map[string]any{
		"format": 1, "id": id, "name": name, "experiment": name,
		"model": map[string]any{
			"placement_formula": place, "layers": m.layers, "norms_per_block": norms, "tied": true, "flops_per_token": 6 * n,
			"params": map[string]any{"total": n, "by_role": map[string]any{"embedding": 256 * 64, "attention": m.layers * 4 * 64 * 64, "ffn": m.layers * 8 * 64 * 64}},
		},
		"versions": map[string]any{"ablate": "test", "go": "go1.26"},
		"cpu":      map[string]any{"model": "fabricated", "kernel_path": "portable", "threads": 1},
		"data":     map[string]any{"source": "gosrc", "hash": "0011223344556677"},
	}
}
