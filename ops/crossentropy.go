package ops

import (
	"errors"
	"fmt"

	"ablate/graph"
	"ablate/ops/kernel"
)

// Ignore is the target of a token that does not count.
const Ignore = -100

// CrossEntropy is the negative log-likelihood of targets, in nats:
//
//	nll = log Σ exp(logits) - logits[target], 0 where the target is Ignore;  loss = Σ nll
//
//	logits (…, V)   targets int32 (…), Ignore or in [0, V)   loss (1)   nll (…)
//
// The loss is a sum, so that the mean over several batches is that over their
// tokens: with the seed 1/Σ targets, Scope.Gradients gives its gradient. Only
// the loss has a gradient, nll is for evaluation. Another target is a fault of
// the program and panics when it runs. Large logits that are a product, and that
// nobody else reads, are never stored as a whole; see headLoss.
func CrossEntropy(logits, targets *graph.Node) (loss, nll *graph.Node) {
	out := graph.Apply(crossEntropy{}, logits, targets)
	return out[2], out[0]
}

// crossEntropy has results nll, log Σ exp(logits), loss.
type crossEntropy struct{}

func (crossEntropy) String() string { return "crossEntropy" }

func (crossEntropy) Infer(in []graph.Shape) ([]graph.Shape, error) {
	logits, targets := in[0], in[1]
	if len(logits) < 2 || !targets.Eq(logits[:len(logits)-1]) {
		return nil, fmt.Errorf("targets have shape %v for logits of %v, one a row is wanted", targets, logits)
	}
	return []graph.Shape{targets, targets, {1}}, nil
}

func (crossEntropy) Bind(c *graph.Call) []graph.Task {
	return graph.Typed(c, bindCrossEntropy[float32], bindCrossEntropy[float64])(c)
}

func bindCrossEntropy[T graph.Float](c *graph.Call) []graph.Task {
	v := width(c.In(0).Shape())
	rows := c.Rows(func(part, parts int, _ *graph.Worker) {
		nll, lse := graph.Part[T](c.Out(0), part, parts), graph.Part[T](c.Out(1), part, parts)
		kernel.CrossEntropy(nll, lse, graph.Part[T](c.In(0), part, parts), graph.Part[int32](c.In(1), part, parts), len(nll), v, Ignore)
	})
	rows.Writes = []*graph.Buffer{c.Out(0), c.Out(1)}
	return []graph.Task{rows, sumOfLosses[T](c.Out(0), c.Out(2))}
}

// sumOfLosses is the task that adds nll up.
func sumOfLosses[T graph.Float](nll, loss *graph.Buffer) graph.Task {
	return graph.Task{
		Parts: 1, Reads: []*graph.Buffer{nll}, Writes: []*graph.Buffer{loss},
		Run: func(int, *graph.Worker) {
			graph.Slice[T](loss)[0] = T(kernel.Sum(graph.Slice[T](nll)))
		},
	}
}

// Grad is dlogits = dloss·(exp(logits - log Σ exp(logits)) - onehot(target)).
func (crossEntropy) Grad(in, out, dout []*graph.Node) []*graph.Node {
	if dout[0] != nil || dout[2] == nil {
		panic(&graph.Error{Op: "crossEntropy", Err: errors.New("the sum of the losses has a gradient, that of single tokens has none")})
	}
	return []*graph.Node{graph.Apply1(crossEntropyGrad{}, in[0], in[1], out[0], out[1], dout[2]), nil}
}

// crossEntropyGrad has operands logits, targets, nll, log Σ exp(logits), dloss.
type crossEntropyGrad struct{}

func (crossEntropyGrad) String() string { return "crossEntropyGrad" }

func (crossEntropyGrad) Infer(in []graph.Shape) ([]graph.Shape, error) { return in[:1], nil }

// Alias lets dlogits take the place of the logits.
func (crossEntropyGrad) Alias(int) int { return 0 }

func (crossEntropyGrad) Bind(c *graph.Call) []graph.Task {
	t := c.Rows(graph.Typed(c, runCrossEntropyGrad[float32], runCrossEntropyGrad[float64])(c))
	t.Whole = []*graph.Buffer{c.In(4)}
	return []graph.Task{t}
}

func runCrossEntropyGrad[T graph.Float](c *graph.Call) func(part, parts int, _ *graph.Worker) {
	v := width(c.In(0).Shape())
	return func(part, parts int, _ *graph.Worker) {
		nll, lse := graph.Part[T](c.In(2), part, parts), graph.Part[T](c.In(3), part, parts)
		kernel.CrossEntropyGrad(graph.Part[T](c.Out(0), part, parts), graph.Part[T](c.In(0), part, parts), nll, lse,
			graph.Part[int32](c.In(1), part, parts), len(lse), v, Ignore, graph.Slice[T](c.In(4))[0])
	}
}
