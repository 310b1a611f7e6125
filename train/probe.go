package train

import (
	"math"

	"ablate/train/metrics"
)

// Due says whether the layers are recorded at a step of a run.
func (p Probe) Due(step int, c Config) bool {
	return step == 0 || step == c.Warmup.Of(c.Steps) || step == c.Steps-1 || p.Every > 0 && step%p.Every == 0
}

// readings are the values of layers.jsonl for one step: of the residual stream,
// boundary by boundary, then of every group of parameters. stream and group
// add them in the order of the rows.
type readings struct {
	table  *metrics.Table
	values []metrics.Value
}

// newReadings lists the rows: for every boundary of a stream of numel elements,
// and for every group.
func newReadings(boundaries int, numel int64, groups []group) *readings {
	var rows []metrics.Layer
	list := func(row metrics.Layer, quantities ...string) {
		for _, row.Quantity = range quantities {
			rows = append(rows, row)
		}
	}
	for l := range boundaries {
		list(metrics.Layer{Layer: l, Module: metrics.ModuleStream, Numel: numel},
			metrics.StreamRMS, metrics.StreamGradNorm, metrics.StreamGradRMSToken)
	}
	for _, p := range groups {
		list(metrics.Layer{Layer: p.layer, Module: p.module, Param: p.param, Numel: p.numel},
			metrics.GradNorm, metrics.GradRMS, metrics.WeightNorm, metrics.UpdateRatio)
	}
	return &readings{table: metrics.NewTable(rows)}
}

// measured gives table and values of a step, for the caller until the next one.
// updated says that an update followed, so that there are ratios.
func (t *trainer[T]) measured(updated bool) (*metrics.Table, []metrics.Value) {
	r, n, g := t.readings, t.norms, t.gradient
	r.values = r.values[:0]
	for l := range g.streamSq {
		r.stream(g.streamSq[l], g.streamGradSq[l], len(g.tokens), g.model.Width, g.count)
	}
	for i := range n.groups {
		p := &n.groups[i]
		r.group(p.of(n.grad), p.of(n.value), p.of(n.delta), p.numel)
	}
	if updated {
		return r.table, r.values
	}
	return r.without(metrics.UpdateRatio)
}

// stream adds the quantities of a boundary x of the residual stream, from its
// sums of squares over all tokens of the step (R of width D):
//
//	stream_rms             √(Σ x² / RD)
//	stream_grad_norm       √Σ (∂ mean loss/∂x)²
//	stream_grad_rms_token  √(1/R · Σ_t ‖∂ Σ nll/∂x_t‖²) = N/√R · stream_grad_norm,   N targets
//
// The last one depends on neither batch nor length.
func (r *readings) stream(sq, gradSq float64, tokens, width, targets int) {
	n, norm := float64(tokens), math.Sqrt(gradSq)
	r.values = append(r.values,
		metrics.Known(math.Sqrt(sq/(n*float64(width)))),
		metrics.Known(norm),
		metrics.Known(norm*float64(targets)/math.Sqrt(n)))
}

// group adds the quantities of a group of n parameters from its norms.
func (r *readings) group(grad, weight, delta float64, n int64) {
	r.values = append(r.values,
		metrics.Known(grad),
		metrics.Known(grad/math.Sqrt(float64(n))),
		metrics.Known(weight),
		updateRatio(delta, weight))
}

// without gives table and values but for those of a quantity.
func (r *readings) without(quantity string) (*metrics.Table, []metrics.Value) {
	var rows []metrics.Layer
	var values []metrics.Value
	for i, v := range r.values {
		if row := r.table.Row(i, 0, v); row.Quantity != quantity {
			rows, values = append(rows, row), append(values, v)
		}
	}
	return metrics.NewTable(rows), values
}
