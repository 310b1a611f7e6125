package train

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"testing"

	"ablate/graph"
	"ablate/ops/kernel"
)

// reference is a file of golden reference vectors.
type reference struct {
	Attrs struct {
		LR, Beta1, Beta2, Eps float64
		WeightDecay           float64 `json:"weight_decay"`
		MaxNorm               float64 `json:"max_norm"`
	}
	Param0    tensor
	Steps     []struct{ Grad, Param, M, V tensor }
	Inputs    map[string]tensor
	TotalNorm float64 `json:"total_norm"`
	Output    map[string]tensor
}

type tensor struct{ Data []float64 }

func readReference(t *testing.T, name string) reference {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var r reference
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func as[T graph.Float](x []float64) []T {
	y := make([]T, len(x))
	for i, v := range x {
		y[i] = T(v)
	}
	return y
}

// differ compares within rel·|want| + abs.
func differ[T graph.Float](t *testing.T, what string, got []T, want []float64, rel, abs float64) {
	t.Helper()
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d <= rel*math.Abs(w)+abs) {
			t.Errorf("%s[%d] = %v, want %v", what, i, got[i], w)
		}
	}
}

func TestAdamWAgainstReference(t *testing.T) {
	for _, name := range []string{"op_adamw_wd0.json", "op_adamw_wd0.1.json"} {
		adamWAgainst[float64](t, readReference(t, name), 1e-10, 1e-12)
		adamWAgainst[float32](t, readReference(t, name), 1e-3, 1e-5)
	}
}

func adamWAgainst[T graph.Float](t *testing.T, r reference, rel, abs float64) {
	o, ok := lookupOptimizer[T]("adamw")
	if !ok {
		t.Fatal("no adamw")
	}
	a := r.Attrs
	rule := o.New(Config{Betas: [2]float64{a.Beta1, a.Beta2}, Eps: a.Eps, WeightDecay: a.WeightDecay})
	n := len(r.Param0.Data)
	v := &Vectors[T]{Values: as[T](r.Param0.Data), State: [][]T{make([]T, n), make([]T, n)}}
	for i, s := range r.Steps {
		v.Grads = as[T](s.Grad.Data)
		rule.Prepare(i+1, a.LR, 1)
		rule.Update(v, 0, n/2, Factors{1, 1}) // in two pieces, as a step does it
		rule.Update(v, n/2, n, Factors{1, 1})
		differ(t, "param", v.Values, s.Param.Data, rel, abs)
		differ(t, "m", v.State[0], s.M.Data, rel, abs)
		differ(t, "v", v.State[1], s.V.Data, rel, abs)
	}
	if len(r.Steps) != 5 {
		t.Errorf("%d steps in the file", len(r.Steps))
	}
}

func TestSGDByHand(t *testing.T) {
	o, _ := lookupOptimizer[float64]("sgd")
	rule := o.New(Config{Momentum: 0.5, WeightDecay: 0.25})
	v := &Vectors[float64]{Values: []float64{8, 8}, Grads: []float64{2, 2}, State: [][]float64{{0, 0}}}
	rule.Prepare(1, 0.5, 0.5)
	rule.Update(v, 0, 1, Factors{1, 1}) // u = 1; (1 − 0.125)·8 − 0.5
	rule.Update(v, 1, 2, Factors{1, 0}) // u = 1; 8 − 0.5
	rule.Prepare(2, 0.25, 1)
	rule.Update(v, 1, 2, Factors{1, 0}) // u = 2.5; 7.5 − 0.625
	differ(t, "param", v.Values, []float64{6.5, 6.875}, 0, 0)
}

func TestClippingAgainstReference(t *testing.T) {
	r := readReference(t, "op_clip_grad_norm.json")
	sum := 0.0
	for _, g := range r.Inputs {
		for _, x := range g.Data {
			sum += x * x
		}
	}
	norm := math.Sqrt(sum)
	if math.Abs(norm-r.TotalNorm) > 1e-12 {
		t.Errorf("norm %v, want %v", norm, r.TotalNorm)
	}
	k := Clip(r.Attrs.MaxNorm).Coefficient(norm)
	for name, g := range r.Inputs {
		for i, x := range g.Data {
			if got, want := k*x, r.Output[name].Data[i]; math.Abs(got-want) > 1e-12 {
				t.Errorf("%s[%d] = %v, want %v", name, i, got, want)
			}
		}
	}
}

func TestClipCoefficient(t *testing.T) {
	for _, c := range []struct {
		clip       Clip
		norm, want float64
	}{
		{1, 0.5, 1}, {1, 1, 1 / (1 + 1e-6)}, {1, 4, 1 / (4 + 1e-6)}, {0.25, 1, 0.25 / (1 + 1e-6)}, {0, 1e30, 1}, {1, 0, 1}, {1, math.Inf(1), 0},
	} {
		if got := c.clip.Coefficient(c.norm); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("clip %v, norm %v: %v, want %v", c.clip, c.norm, got, c.want)
		}
	}
	if got := Clip(1).Coefficient(math.NaN()); !math.IsNaN(got) {
		t.Errorf("a norm of NaN gives %v, which hides it", got)
	}
}

// TestOptimizers walks the table: every rule moves a parameter against its
// gradient, decays only where it should, and gives the same for any cut.
func TestOptimizers(t *testing.T) {
	for _, o := range Optimizers[float64]() {
		run := func(cuts []int, decay float64) []float64 {
			rule := o.New(testConfig())
			v := &Vectors[float64]{Values: []float64{1, 1, 1, 1}, Grads: []float64{1, 2, 3, 4}}
			for range o.State {
				v.State = append(v.State, make([]float64, 4))
			}
			for i := range 3 {
				rule.Prepare(i+1, 0.01, 1)
				for k := range len(cuts) - 1 {
					rule.Update(v, cuts[k], cuts[k+1], Factors{1, decay})
				}
			}
			return v.Values
		}
		plain, cut, decayed := run([]int{0, 4}, 0), run([]int{0, 1, 4}, 0), run([]int{0, 4}, 1)
		for i := range plain {
			if !(plain[i] < 1) || cut[i] != plain[i] || !(decayed[i] < plain[i]) {
				t.Errorf("%s: %v, in two cuts %v, decayed %v", o.Name, plain, cut, decayed)
			}
		}
	}
}

// TestDecayGroups: with a gradient of zero, decay alone moves the parameters
// that have it and no others.
func TestDecayGroups(t *testing.T) {
	m := newTestModel[float64](t, 4, 3, 2)
	cfg := testConfig()
	o, _ := lookupOptimizer[float64]("adamw")
	f := newFlat(m, o, cfg)
	before := as[float64](m.Params.Values())
	f.update(1, 0.5, 1, false)
	for _, s := range m.Params.Specs() {
		from, to := m.Params.Span(s.Name)
		for i := from; i < to; i++ {
			want := before[i]
			if s.Decay {
				want *= 1 - 0.5*cfg.WeightDecay
			}
			if m.Params.Values()[i] != want {
				t.Errorf("%s: %v became %v, want %v", s.Name, before[i], m.Params.Values()[i], want)
			}
		}
	}
}

// TestMeasuredUpdates: a rule that measures its update makes the same one, and
// its sums are those of the vectors before and after.
func TestMeasuredUpdates(t *testing.T) {
	for _, o := range Optimizers[float32]() {
		c := Config{Betas: [2]float64{0.9, 0.99}, Eps: 1e-8, Momentum: 0.9, WeightDecay: 0.1}
		rule := o.New(c)
		m, ok := rule.(Measurer[float32])
		if !ok {
			continue
		}
		const n = 100
		vectors := func() *Vectors[float32] {
			v := &Vectors[float32]{Grads: make([]float32, n), Values: make([]float32, n)}
			r := graph.Stream(1, "", o.Name)
			for i := range n {
				v.Grads[i], v.Values[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
			}
			for range o.State {
				v.State = append(v.State, make([]float32, n))
			}
			return v
		}
		plain, measured, before := vectors(), vectors(), vectors().Values
		rule.Prepare(1, 1e-2, 0.5)
		rule.Update(plain, 3, 90, Factors{1, 1})
		w, d := m.UpdateMeasured(measured, 3, 90, Factors{1, 1})
		if !reflect.DeepEqual(plain, measured) {
			t.Errorf("%s: another update when measured", o.Name)
		}
		wantW := kernel.SumSquares(before[3:90])
		kernel.Sub(before, plain.Values, before)
		wantD := kernel.SumSquares(before)
		if math.Abs(w/wantW-1) > 1e-6 || math.Abs(d/wantD-1) > 1e-6 {
			t.Errorf("%s: Σ W² = %v and Σ (ΔW)² = %v, want %v and %v", o.Name, w, d, wantW, wantD)
		}
	}
}
