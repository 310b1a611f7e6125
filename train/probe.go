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
		add := func(quantity string, v metrics.Value) {
			rows = append(rows, metrics.Layer{Step: int64(step), Layer: p.layer, Module: p.module, Param: p.param, Quantity: quantity, Value: v, Numel: p.numel})
		}
		grad := p.of(n.grad)
		add(metrics.GradNorm, metrics.Known(grad))
		add(metrics.GradRMS, metrics.Known(grad/math.Sqrt(float64(p.numel))))
		add(metrics.WeightNorm, metrics.Known(p.of(n.value)))
		if updated {
			add(metrics.UpdateRatio, n.ratio(p))
		}
	}
	return rows
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
		add := func(quantity string, v float64) {
			rows = append(rows, metrics.Layer{Step: int64(step), Layer: l, Module: metrics.ModuleStream, Quantity: quantity, Value: metrics.Known(v), Numel: numel})
		}
		norm := math.Sqrt(g.streamGradSq[l])
		add(metrics.StreamRMS, math.Sqrt(g.streamSq[l]/float64(numel)))
		add(metrics.StreamGradNorm, norm)
		add(metrics.StreamGradRMSToken, norm*float64(g.count)/math.Sqrt(tokens))
	}
	return rows
}
