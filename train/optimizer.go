package train

import "ablate/graph"

// Optimizer is one line of the table of optimizers.
type Optimizer[T graph.Float] struct {
	Name  string
	Keys  []string // which of Config's optional keys it reads
	State []string // names of the vectors it keeps from step to step, each as long as the parameters
	New   func(Config) Rule[T]
}

// Rule turns gradients into new values, element by element.
type Rule[T graph.Float] interface {
	// Prepare fixes the numbers of one update: t counts updates from 1, clip
	// multiplies every gradient.
	Prepare(t int, lr, clip float64)
	// Update computes elements [from, to) of v, which belong to one parameter, with
	// the factors of that parameter. It is called for different elements at once.
	Update(v *Vectors[T], from, to int, f Factors)
}

// Measurer is a Rule that measures what it changes while it has it in hand.
type Measurer[T graph.Float] interface {
	// UpdateMeasured is Update, to the same bytes, and gives Σ W² before it and
	// Σ (ΔW)², to a few of float32's last digits at any size of the numbers.
	UpdateMeasured(v *Vectors[T], from, to int, f Factors) (before, change float64)
}

// Vectors are the flat vectors that a Rule works on, all of one layout.
type Vectors[T graph.Float] struct {
	Values, Grads []T
	State         [][]T // in the order of Optimizer.State
}

// Optimizers is the table of optimizers, in the order in which they are listed
// to people.
func Optimizers[T graph.Float]() []Optimizer[T] {
	return []Optimizer[T]{adamW[T](), sgd[T]()}
}

// OptimizerName is the name of an optimizer in the table.
type OptimizerName string

// ConfigEnum lists the names of the table.
func (OptimizerName) ConfigEnum() []string {
	var names []string
	for _, o := range Optimizers[float32]() {
		names = append(names, o.Name)
	}
	return names
}

func lookupOptimizer[T graph.Float](name OptimizerName) (Optimizer[T], bool) {
	for _, o := range Optimizers[T]() {
		if o.Name == string(name) {
			return o, true
		}
	}
	return Optimizer[T]{}, false
}

// StateVectors is the number of vectors, each as long as the weights, that the
// optimizer keeps.
func (c Config) StateVectors() int {
	o, _ := lookupOptimizer[float32](c.Optimizer)
	return len(o.State)
}
