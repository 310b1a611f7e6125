package train

import (
	"fmt"
	"math"
	"slices"

	"ablate/graph"
	"ablate/train/metrics"
)

// Due says whether the layers are recorded at a step of a run.
func (p Probe) Due(step int, c Config) bool {
	return step == 0 || step == c.Warmup.Of(c.Steps) || step == c.Steps-1 || p.Every > 0 && step%p.Every == 0
}

// layerRows are the rows of layers.jsonl for one step: the residual stream,
// boundary by boundary, then every group of parameters. Only their steps and
// values change from step to step.
type layerRows struct {
	rows  []metrics.Layer
	place int // of the row that gets the next value
}

// newLayerRows lists the rows without their values: for every boundary of a
// stream of numel elements, and for every group.
func newLayerRows(boundaries int, numel int64, groups []group) *layerRows {
	r := &layerRows{}
	add := func(row metrics.Layer, quantities ...string) {
		for _, row.Quantity = range quantities {
			r.rows = append(r.rows, row)
		}
	}
	for l := range boundaries {
		add(metrics.Layer{Layer: l, Module: metrics.ModuleStream, Numel: numel},
			metrics.StreamRMS, metrics.StreamGradNorm, metrics.StreamGradRMSToken)
	}
	for _, p := range groups {
		add(metrics.Layer{Layer: p.layer, Module: p.module, Param: p.param, Numel: p.numel},
			metrics.GradNorm, metrics.GradRMS, metrics.WeightNorm, metrics.UpdateRatio)
	}
	return r
}

// measured gives the rows of a step, for the caller until the next one.
// updated says that an update followed, so that there is a ratio.
func (t *trainer[T]) measured(updated bool) []metrics.Layer {
	r, n := t.rows, t.norms
	r.place = 0
	setStream(r, t.step, t.gradient)
	for i := range n.groups {
		p := &n.groups[i]
		grad, weight := p.of(n.grad), p.of(n.value)
		r.set(t.step, metrics.GradNorm, metrics.Known(grad))
		r.set(t.step, metrics.GradRMS, metrics.Known(grad/math.Sqrt(float64(p.numel))))
		r.set(t.step, metrics.WeightNorm, metrics.Known(weight))
		r.set(t.step, metrics.UpdateRatio, updateRatio(p.of(n.delta), weight))
	}
	if updated {
		return r.rows
	}
	return slices.DeleteFunc(slices.Clone(r.rows), func(row metrics.Layer) bool { return row.Quantity == metrics.UpdateRatio })
}

// set gives the next row, which must be of this quantity, its value.
func (r *layerRows) set(step int, quantity string, v metrics.Value) {
	row := &r.rows[r.place]
	if row.Quantity != quantity {
		panic(fmt.Sprintf("train: %s comes where %s belongs", quantity, row.Quantity))
	}
	row.Step, row.Value = int64(step), v
	r.place++
}

// setStream sets the quantities of the residual stream x_l at the boundaries
// l = 0..L, over all tokens of the step (R = A·B·T rows of D):
//
//	stream_rms             √(Σ x_l² / RD)
//	stream_grad_norm       √Σ (∂ mean loss/∂x_l)²
//	stream_grad_rms_token  √(1/R · Σ_t ‖∂ Σ nll/∂x_lt‖²) = N/√R · stream_grad_norm,   N targets
//
// The last one depends on neither batch nor length.
func setStream[T graph.Float](r *layerRows, step int, g *gradient[T]) {
	tokens := float64(len(g.tokens))
	for l := range g.streamSq {
		norm := math.Sqrt(g.streamGradSq[l])
		r.set(step, metrics.StreamRMS, metrics.Known(math.Sqrt(g.streamSq[l]/(tokens*float64(g.model.Width)))))
		r.set(step, metrics.StreamGradNorm, metrics.Known(norm))
		r.set(step, metrics.StreamGradRMSToken, metrics.Known(norm*float64(g.count)/math.Sqrt(tokens)))
	}
}
