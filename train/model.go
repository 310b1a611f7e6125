package train

import (
	"errors"
	"fmt"

	"ablate/data"
	"ablate/graph"
)

// Model is what is trained: two programs over one set of parameters.
//
// Both read the inputs "tokens" and "targets", int32 (B,T), where the target
// data.Ignore does not count.
//
// Step also reads "seed" (1), the derivative of what is minimised by the
// summed loss, and "rng", int32 (2), if it draws random numbers. It gives
// "loss" (1), Σ nll over the targets of this batch, and leaves the gradients in
// Params. If it gives "stream_norm.l", ‖x_l‖ of every sequence, and
// "stream_grad_norm.l", ‖∂ mean loss/∂x_l‖ likewise, for the boundaries l = 0..L of the residual stream
// x_l (B,T,D), the stream is recorded; in a step that is not probed, "skip_norms",
// int32 (1), is 1 instead of 0 if it reads that, and it need not give them.
//
// Eval gives "nll" (B,T), 0 where there is no target. Its B may differ from
// Step's. It is nil if nothing is ever evaluated.
type Model[T graph.Float] struct {
	Params     *graph.Params[T]
	Step, Eval *graph.Program
	Team       *graph.Team // that the programs were compiled for
	Layers     int         // L
	Width      int         // D
}

// Batches is a source of training batches, such as *data.Sampler.
type Batches interface {
	// Batch fills tokens (B,T) and targets (B,T) with micro-batch number micro,
	// from 0, of a step. It is a pure function of (step, micro).
	Batch(tokens, targets []int32, step, micro int)
}

// Data is what a model is trained and judged on.
type Data struct {
	Train      Batches
	Validation data.Tokens // nothing is evaluated where it is empty
	Whole      bool        // of Validation only whole windows are looked at: the model looks ahead
}

// batchShape is the (B,T) of a program.
func batchShape(p *graph.Program) (rows, context int) {
	s := p.Input("tokens").Shape()
	return s[0], s[1]
}

// check reports whether the parts fit each other and the configuration.
func (m *Model[T]) check(c Config, d Data) error {
	var errs []error
	for _, name := range []string{"tokens", "targets", "seed"} {
		if !m.Step.HasInput(name) {
			errs = append(errs, fmt.Errorf("train: the training program reads no input %q", name))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if rows, _ := batchShape(m.Step); rows != c.Batch {
		errs = append(errs, fmt.Errorf("train: the training program has batches of %d rows, the configuration of %d", rows, c.Batch))
	}
	if d.Validation.Len() > 1 && (m.Eval == nil || !m.Eval.HasOutput("nll")) {
		errs = append(errs, errors.New("train: validation data, but no program that gives \"nll\""))
	}
	return errors.Join(errs...)
}
