package train

import (
	"fmt"
	"math"
	"slices"

	"ablate/graph"
	"ablate/train/metrics"
)

// NonFinite says where a run left the finite numbers. The weights are those
// before the step, which was not taken; only for What "update" had the numbers
// become infinite in the update itself.
type NonFinite struct {
	Step  int64  `json:"step"`  // updates made
	What  string `json:"what"`  // weight, loss, gradient, gradient_norm, update, val_loss
	Layer int    `json:"layer"` // block, from 0; metrics.NoLayer outside of blocks or where it is not known
	Where string `json:"where"` // the first place that is not finite, in words
}

const (
	// faultInWeight is the What of a weight that is not finite.
	faultInWeight = "weight"
	// skipNonFinite is the value of on_nonfinite that goes on.
	skipNonFinite = "skip"
)

// String is a sentence for people.
func (n *NonFinite) String() string {
	return fmt.Sprintf("diverged at step %d: %s", n.Step, n.Place())
}

// Place says what is not finite, and where it began.
func (n *NonFinite) Place() string {
	if n.Layer == metrics.NoLayer {
		return fmt.Sprintf("%s: %s", n.What, n.Where)
	}
	return fmt.Sprintf("%s: layer %d: %s", n.What, n.Layer, n.Where)
}

// nonFinite looks for what would spoil the weights if the step were taken; nil
// if there is nothing. norm is that of the gradient, clip the factor that it
// is going to get.
func (t *trainer[T]) nonFinite(norm, clip float64) *NonFinite {
	g, limit := t.gradient, largestGradient[T]()
	if finite(g.loss) && norm*clip <= limit { // false for NaN
		return nil
	}
	n := &NonFinite{Step: int64(t.step), Layer: metrics.NoLayer}
	switch {
	case !finite(g.loss):
		n.inLoss(g.streamSq)
		n.inWeights(faultInWeight, t.flat.nonFinite(t.flat.vec.Values))
	case !finite(norm):
		n.inGradient(t.flat.specs, t.norms.grad, g.streamGradSq)
	default:
		n.What = "gradient_norm"
		n.Where = fmt.Sprintf("%.3g after clipping is beyond %.3g, whose square is the largest number", norm*clip, limit)
	}
	return n
}

// nonFiniteState looks for what an update of finite numbers has made
// infinite; nil if there is nothing.
func (t *trainer[T]) nonFiniteState() *NonFinite {
	s := t.flat.nonFinite(append(slices.Clone(t.flat.vec.State), t.flat.vec.Values)...)
	if s == nil {
		return nil
	}
	n := &NonFinite{Step: int64(t.step)}
	n.inWeights("update", s)
	return n
}

// largestGradient is the root of the largest number: the square of a greater
// gradient makes an optimizer's second moment infinite, and its parameter
// stand still for ever after.
func largestGradient[T graph.Float]() float64 {
	if graph.DtypeOf[T]() == graph.Float32 {
		return math.Sqrt(math.MaxFloat32)
	}
	return math.Sqrt(math.MaxFloat64)
}

// inLoss finds what made the loss non-finite, in the order of the forward
// pass: the first boundary of the residual stream, or what comes after it.
func (n *NonFinite) inLoss(streamSq []float64) {
	n.What = "loss"
	n.Where = "the loss, with a finite residual stream: the final norm, the head or the loss itself"
	if len(streamSq) == 0 {
		n.Where = "the loss"
	}
	for l, s := range streamSq {
		if finite(s) {
			continue
		}
		n.Layer, n.Where = l-1, fmt.Sprintf("the residual stream at the output of block %d", l-1)
		if l == 0 {
			n.Layer, n.Where = metrics.NoLayer, "the residual stream at the input of block 0: the embedding"
		}
		return
	}
}

// inWeights puts the blame on a parameter, unless it is nil.
func (n *NonFinite) inWeights(what string, s *graph.ParamSpec) {
	if s != nil {
		n.What, n.Layer, n.Where = what, s.Layer, s.Name
	}
}

// inGradient finds where the gradient stopped being finite, in the order of
// the backward pass, in which everything after the fault is spoilt too: the
// last boundary of the stream, and the last parameter in order of declaration.
func (n *NonFinite) inGradient(specs []*graph.ParamSpec, gradSq, streamGradSq []float64) {
	n.What, n.Where = "gradient", "the norm of the whole gradient"
	for i := len(specs) - 1; i >= 0; i-- {
		if !finite(gradSq[i]) {
			n.Layer, n.Where = specs[i].Layer, "the gradient of "+specs[i].Name
			break
		}
	}
	for l := len(streamGradSq) - 1; l >= 0; l-- {
		if !finite(streamGradSq[l]) {
			n.Where += fmt.Sprintf(", with the gradient of the residual stream at boundary %d of %d", l, len(streamGradSq)-1)
			return
		}
	}
}
