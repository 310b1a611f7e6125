package golden

import (
	"fmt"
	"slices"
	"strings"

	"ablate/graph"
	"ablate/nn"
	"ablate/ops"
)

// opFile is an operation with what the reference computed.
type opFile struct {
	name   string
	attrs  *object
	inputs map[string]tensor
	output tensor
	dy     tensor
	grads  map[string]tensor
	rows   []string // inputs of one axis where there may be more
	plan   opPlan
}

// opPlan is how an operation is checked: as an expression on the inputs, with
// gradients, or as a table of numbers.
type opPlan struct {
	// build gives the result for the inputs' nodes.
	build func(s *graph.Scope, in map[string]*graph.Node) *graph.Node
	// shape, if set, gives the shape in which the graph has an input.
	shape func(name string, t tensor) []int
	// scale multiplies the result: one over the number of targets in a mean.
	scale float64
	// order, if set, gives for every element of the file's output its place in
	// ours.
	order func(i int) int
	// table computes the output instead; there are no inputs.
	table func() []float64
	// run compares by itself, for files of a form of their own.
	run64, run32 func(r *Result)
}

// opReader reads the options of an operation and plans its check.
type opReader func(o *object, f *opFile)

// opReaders maps prefixes of names to readers; the longest prefix counts.
var opReaders = map[string]opReader{}

// register adds readers; the files of the operations call it.
func register(readers map[string]opReader) {
	for prefix, r := range readers {
		opReaders[prefix] = r
	}
}

func init() {
	register(elementwiseOps)
	register(rowOps)
	register(attentionOps)
	register(positionOps)
	register(optimizerOps)
}

func readOp(o *object) (*opFile, error) {
	f := &opFile{plan: opPlan{scale: 1}}
	required(o, "op", &f.name)
	f.attrs = o.sub("attrs")
	if f.attrs == nil {
		f.attrs, _ = readObject("attrs", []byte("{}"))
		f.attrs.errs = o.errs
	}
	f.inputs = map[string]tensor{}
	if o.has("inputs") {
		f.inputs = o.tensors("inputs")
	}
	read := lookupOp(f.name)
	if read == nil {
		return nil, fmt.Errorf("op %q is not known; known: %s", f.name, strings.Join(sortedKeys(opReaders), ", "))
	}
	if len(*o.errs) > 0 {
		return nil, errorsOf(*o.errs)
	}
	read(o, f)
	f.attrs.ignored("layout", "note", "formula", "reduction")
	f.attrs.end()
	o.ignored("fd_check_max_abs_err")
	if f.plan.run64 == nil {
		f.readResults(o)
	}
	return f, o.err()
}

// lookupOp finds the reader with the longest prefix of the name that ends at an
// underscore or at the end.
func lookupOp(name string) opReader {
	var best string
	for prefix := range opReaders {
		if (name == prefix || strings.HasPrefix(name, prefix+"_")) && len(prefix) > len(best) {
			best = prefix
		}
	}
	return opReaders[best]
}

// readResults reads output, upstream gradient and gradients.
func (f *opFile) readResults(o *object) {
	f.output = o.tensor("output")
	if f.plan.table != nil {
		f.want(o, nil)
		return
	}
	f.dy, f.grads = o.tensor("dy"), o.tensors("grads")
	if !slices.Equal(f.dy.shape, f.output.shape) {
		o.bad("dy has shape %v, the output %v", f.dy.shape, f.output.shape)
	}
	for _, name := range sortedKeys(f.inputs) {
		if !slices.Equal(f.grads[name].shape, f.inputs[name].shape) {
			o.bad("grads: %s has shape %v, the input %v", name, f.grads[name].shape, f.inputs[name].shape)
		}
	}
	for _, name := range sortedKeys(f.grads) {
		if _, ok := f.inputs[name]; !ok {
			o.bad("grads: %s is no input", name)
		}
	}
}

// want makes sure that the inputs are these, with these ranks; a question mark
// marks an input that may be absent.
func (f *opFile) want(o *object, inputs map[string]int) bool {
	ok := true
	for _, name := range sortedKeys(f.inputs) {
		if _, known := inputs[name]; !known && inputs[name+"?"] == 0 {
			o.bad("inputs: %s is not known", name)
			ok = false
		}
	}
	for _, name := range sortedKeys(inputs) {
		plain, maybe := strings.CutSuffix(name, "?")
		t, there := f.inputs[plain]
		switch rank := inputs[name]; {
		case !there && !maybe:
			o.bad("inputs: %s is missing", plain)
			ok = false
		case there && rank != anyRank && len(t.shape) != rank, there && rank == anyRank && len(t.shape) < 1:
			o.bad("inputs: %s has shape %v", plain, t.shape)
			ok = false
		case there && rank == anyRank && len(t.shape) == 1:
			f.rows = append(f.rows, plain)
		}
	}
	return ok
}

// anyRank is a rank of at least 1.
const anyRank = -1

func verifyOp[T graph.Float](f *opFile, r *Result) error {
	lim := limitsOf[T]().ops
	switch {
	case f.plan.run64 != nil && graph.DtypeOf[T]() == graph.Float64:
		f.plan.run64(r)
	case f.plan.run32 != nil:
		f.plan.run32(r)
	case f.plan.table != nil:
		worsen(&r.OpErr, r.compare("output", f.plan.table(), f.output.data, limits64.ops))
	default:
		return runOp[T](f, r, lim)
	}
	return nil
}

// runOp builds the operation with its inputs as parameters, so that their
// gradients land in a store, and the sum of dy ⊙ output as the loss.
func runOp[T graph.Float](f *opFile, r *Result, lim bound) error {
	names := sortedKeys(f.inputs)
	dy := f.reorder(f.dy.data)
	for i := range dy {
		dy[i] *= f.plan.scale
	}
	g, err := graph.Build(graph.DtypeOf[T](), func(s *graph.Scope) {
		in := map[string]*graph.Node{}
		for _, name := range names {
			in[name] = s.Param(graph.ParamSpec{Name: name, Shape: f.graphShape(name), Layer: -1, Init: nn.Constant(0)})
		}
		y := f.plan.build(s, in)
		s.Output("y", y)
		if n := y.Shape().TotalSize(); n != len(dy) {
			panic(&graph.Error{Name: f.name, Err: fmt.Errorf("%d results, the file has %d", n, len(dy))})
		}
		loss := graph.Apply1(dot{}, y, s.Table("dy", dy, y.Shape()...))
		s.Gradients(loss, s.Floats("seed", 1))
	})
	if err != nil {
		return err
	}
	team := graph.NewTeam(1)
	defer team.Close()
	params := graph.NewParams[T](g)
	prog, err := graph.Compile(g, params, team)
	if err != nil {
		return err
	}
	for _, name := range names {
		fill(params.Value(name), f.inputs[name].data)
	}
	graph.Slice[T](prog.Input("seed"))[0] = 1
	prog.Run()
	y := numbers(graph.Slice[T](prog.Output("y")))
	for i := range y {
		y[i] *= f.plan.scale
	}
	worsen(&r.OpErr, r.compare("output", y, f.reorder(f.output.data), lim))
	for _, name := range names {
		worsen(&r.OpErr, r.compare("gradient of "+name, numbers(params.Grad(name)), f.grads[name].data, lim))
	}
	return nil
}

// graphShape is the shape in which the graph has an input.
func (f *opFile) graphShape(name string) []int {
	t := f.inputs[name]
	if f.plan.shape != nil {
		return f.plan.shape(name, t)
	}
	if slices.Contains(f.rows, name) {
		return []int{1, len(t.data)}
	}
	return t.shape
}

// reorder brings the file's output into the order of ours.
func (f *opFile) reorder(x []float64) []float64 {
	x = slices.Clone(x)
	if f.plan.order == nil {
		return x
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[f.plan.order(i)] = v
	}
	return y
}

// dot is Σ a ⊙ b over all elements, with a gradient for a alone: the loss under
// which b is the upstream gradient of a.
type dot struct{}

func (dot) String() string { return "dot" }

func (dot) Infer(in []graph.Shape) ([]graph.Shape, error) {
	if !in[0].Eq(in[1]) {
		return nil, fmt.Errorf("shapes must be equal")
	}
	return []graph.Shape{{1}}, nil
}

func (dot) Fixed(operand int) bool { return operand == 1 }

func (dot) Grad(in, _, dout []*graph.Node) []*graph.Node {
	return []*graph.Node{ops.MulScalar(in[1], dout[0]), nil}
}

func (dot) Bind(c *graph.Call) []graph.Task {
	return []graph.Task{{Parts: 1, Run: graph.Typed(c, runDot[float32], runDot[float64])(c)}}
}

func runDot[T graph.Float](c *graph.Call) func(int, *graph.Worker) {
	return func(int, *graph.Worker) {
		var s float64
		b := graph.Slice[T](c.In(1))
		for i, v := range graph.Slice[T](c.In(0)) {
			s += float64(v) * float64(b[i])
		}
		graph.Slice[T](c.Out(0))[0] = T(s)
	}
}
