package train

import (
	"math"

	"ablate/graph"
	"ablate/train/metrics"
)

// Due says whether the layers are recorded at a step of a run.
func (p Probe) Due(step int, c Config) bool {
	return step == 0 || step == c.Warmup.Of(c.Steps) || step == c.Steps-1 || p.Every > 0 && step%p.Every == 0
}

// layerRows appends the rows of layers.jsonl for one step: the residual
// stream, boundary by boundary, then every group of parameters. updated says
// that an update followed, so that there is a ratio.
func layerRows[T graph.Float](rows []metrics.Layer, step int, g *gradient[T], n *norms, updated bool) []metrics.Layer {
	rows = streamRows(rows, step, g)
	for i := range n.groups {
		p := &n.groups[i]
		row := metrics.Layer{Step: int64(step), Layer: p.layer, Module: p.module, Param: p.param, Numel: p.numel}
		grad, weight := p.of(n.grad), p.of(n.value)
		rows = append(rows,
			valued(row, metrics.GradNorm, metrics.Known(grad)),
			valued(row, metrics.GradRMS, metrics.Known(grad/math.Sqrt(float64(p.numel)))),
			valued(row, metrics.WeightNorm, metrics.Known(weight)))
		if updated {
			rows = append(rows, valued(row, metrics.UpdateRatio, updateRatio(p.of(n.delta), weight)))
		}
	}
	return rows
}

// valued is a row with its quantity.
func valued(row metrics.Layer, quantity string, v metrics.Value) metrics.Layer {
	row.Quantity, row.Value = quantity, v
	return row
}

// streamRows appends the quantities of the residual stream x_l at the
// boundaries l = 0..L, over all tokens of the step (R = A·B·T rows of D):
//
//	stream_rms             √(Σ x_l² / RD)
//	stream_grad_norm       √Σ (∂ mean loss/∂x_l)²
//	stream_grad_rms_token  √(1/R · Σ_t ‖∂ Σ nll/∂x_lt‖²) = N/√R · stream_grad_norm,   N targets
//
// The last one depends on neither batch nor length.
func streamRows[T graph.Float](rows []metrics.Layer, step int, g *gradient[T]) []metrics.Layer {
	tokens := float64(len(g.tokens))
	numel := int64(len(g.tokens)) * int64(g.model.Width)
	for l := range g.streamSq {
		row := metrics.Layer{Step: int64(step), Layer: l, Module: metrics.ModuleStream, Numel: numel}
		norm := math.Sqrt(g.streamGradSq[l])
		rows = append(rows,
			valued(row, metrics.StreamRMS, metrics.Known(math.Sqrt(g.streamSq[l]/float64(numel)))),
			valued(row, metrics.StreamGradNorm, metrics.Known(norm)),
			valued(row, metrics.StreamGradRMSToken, metrics.Known(norm*float64(g.count)/math.Sqrt(tokens))))
	}
	return rows
}
