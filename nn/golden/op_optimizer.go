package golden

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"ablate/graph"
	"ablate/ops/kernel"
)

// optimizerOps are AdamW and clipping, whose files have a form of their own.
var optimizerOps = map[string]opReader{"adamw": readAdamW, "clip_grad_norm": readClip}

// adamWStep is one step of the reference: the gradient, and everything after it.
type adamWStep struct{ grad, param, m, v []float64 }

func readAdamW(o *object, f *opFile) {
	var t training
	for _, k := range []struct {
		key string
		dst *float64
	}{{"lr", &t.lr}, {"beta1", &t.beta1}, {"beta2", &t.beta2}, {"eps", &t.eps}, {"weight_decay", &t.decay}} {
		required(f.attrs, k.key, k.dst)
	}
	t.clip = math.Inf(1)
	start := o.tensor("param0").data
	steps := readSteps(o, len(start))
	f.plan.run64 = func(r *Result) { runAdamW[float64](r, &t, start, steps) }
	f.plan.run32 = func(r *Result) { runAdamW[float32](r, &t, start, steps) }
}

func readSteps(o *object, n int) []adamWStep {
	var raw []json.RawMessage
	required(o, "steps", &raw)
	steps := make([]adamWStep, len(raw))
	for i, text := range raw {
		s, err := readObject(fmt.Sprintf("steps[%d]", i), text)
		if err != nil {
			o.bad("%v", err)
			return nil
		}
		s.errs = o.errs
		for _, k := range []struct {
			key string
			dst *[]float64
		}{{"grad", &steps[i].grad}, {"param", &steps[i].param}, {"m", &steps[i].m}, {"v", &steps[i].v}} {
			if *k.dst = s.tensor(k.key).data; len(*k.dst) != n {
				s.bad("%s: %d numbers for a parameter of %d", k.key, len(*k.dst), n)
			}
		}
		s.end()
	}
	return steps
}

func runAdamW[T graph.Float](r *Result, t *training, start []float64, steps []adamWStep) {
	n := len(start)
	p, g, m, v := make([]T, n), make([]T, n), make([]T, n), make([]T, n)
	fill(p, start)
	for i, s := range steps {
		fill(g, s.grad)
		h := t.step(i+1, 0)
		h.Decay = t.lr * t.decay
		kernel.AdamW(p, g, m, v, &h)
		for _, c := range []struct {
			what      string
			got       []T
			reference []float64
		}{{"parameter", p, s.param}, {"first moment", m, s.m}, {"second moment", v, s.v}} {
			worsen(&r.OpErr, r.compare(fmt.Sprintf("%s after step %d", c.what, i+1), numbers(c.got), c.reference, limitsOf[T]().ops))
		}
	}
}

func readClip(o *object, f *opFile) {
	var limit, eps, total float64
	required(f.attrs, "max_norm", &limit)
	required(f.attrs, "eps", &eps)
	required(o, "total_norm", &total)
	output := o.tensors("output")
	for _, name := range sortedKeys(f.inputs) {
		if !slices.Equal(f.inputs[name].shape, output[name].shape) {
			o.bad("output: %s has shape %v, the input %v", name, output[name].shape, f.inputs[name].shape)
		}
	}
	f.plan.run64 = func(r *Result) { runClip[float64](r, f.inputs, output, limit, eps, total) }
	f.plan.run32 = func(r *Result) { runClip[float32](r, f.inputs, output, limit, eps, total) }
}

func runClip[T graph.Float](r *Result, inputs, output map[string]tensor, limit, eps, total float64) {
	var sum float64
	grads := map[string][]T{}
	for _, name := range sortedKeys(inputs) {
		g := make([]T, len(inputs[name].data))
		fill(g, inputs[name].data)
		grads[name] = g
		sum += kernel.SumSquares(g)
	}
	got := math.Sqrt(sum)
	worsen(&r.OpErr, r.compare("total norm", []float64{got}, []float64{total}, limitsOf[T]().ops))
	for _, name := range sortedKeys(inputs) {
		g := grads[name]
		kernel.Scale(g, g, math.Min(1, limit/(got+eps)))
		worsen(&r.OpErr, r.compare("clipped "+name, numbers(g), output[name].data, limitsOf[T]().ops))
	}
}
