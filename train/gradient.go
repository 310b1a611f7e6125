package train

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"ablate/data"
	"ablate/graph"
	"ablate/ops/kernel"
)

// gradient runs the training program over the micro-batches of a step.
type gradient[T graph.Float] struct {
	model *Model[T]
	data  Batches
	flat  *flat[T]

	micros          int
	tokens, targets []int32 // of the whole step (A,B,T), A micro-batches
	rng             [sha256.Size]byte

	loss  float64 // mean nll over the targets of the step
	count int     // those targets
	// Σ x_l² and Σ (∂ mean loss/∂x_l)² over the whole step, l = 0..L, if it was
	// probed; nil where the program does not give them.
	streamSq, streamGradSq []float64
	streamOut              [2][]*graph.Buffer
}

func newGradient[T graph.Float](job *Job[T], f *flat[T]) *gradient[T] {
	m := job.Model
	rows, context := batchShape(m.Step)
	g := &gradient[T]{model: m, data: job.Data.Train, flat: f, micros: job.Config.Accumulate}
	g.tokens = make([]int32, g.micros*rows*context)
	g.targets = make([]int32, len(g.tokens))
	g.rng = streamKey(job.Seed, job.Salt, "dropout")
	if m.Step.HasOutput("stream_norm.0") && m.Step.HasOutput("stream_grad_norm.0") {
		g.streamSq, g.streamGradSq = make([]float64, m.Layers+1), make([]float64, m.Layers+1)
		for l := range m.Layers + 1 {
			g.streamOut[0] = append(g.streamOut[0], m.Step.Output(fmt.Sprint("stream_norm.", l)))
			g.streamOut[1] = append(g.streamOut[1], m.Step.Output(fmt.Sprint("stream_grad_norm.", l)))
		}
	}
	return g
}

// compute leaves the gradient of the mean loss of a step in flat, and the rest
// in g:
//
//	loss = Σ nll / N,   N the targets of all micro-batches together
//
// N has to be known before the first micro-batch runs, so all are drawn first.
// probe asks for the norms of the stream. The rest is the same without.
func (g *gradient[T]) compute(step int, probe bool) error {
	g.count = g.fill(step)
	if g.count == 0 {
		return fmt.Errorf("train: step %d has no targets", step)
	}
	p := g.model.Step
	graph.Slice[T](p.Input("seed"))[0] = T(1 / float64(g.count))
	if p.HasInput("skip_norms") {
		skip := graph.Slice[int32](p.Input("skip_norms"))
		if skip[0] = 1; probe {
			skip[0] = 0
		}
	}
	clear(g.streamSq)
	clear(g.streamGradSq)
	sum := 0.0
	for micro := range g.micros {
		g.load(step, micro)
		p.Run()
		g.flat.accumulate(micro)
		sum += float64(graph.Slice[T](p.Output("loss"))[0])
		if probe {
			addOutputs[T](g.streamSq, g.streamOut[0])
			addOutputs[T](g.streamGradSq, g.streamOut[1])
		}
	}
	g.loss = sum / float64(g.count)
	return nil
}

// fill draws the micro-batches of a step and counts their targets.
func (g *gradient[T]) fill(step int) (targets int) {
	n := len(g.tokens) / g.micros
	for micro := range g.micros {
		g.data.Batch(g.tokens[micro*n:(micro+1)*n], g.targets[micro*n:(micro+1)*n], step, micro)
	}
	return countTargets(g.targets)
}

// load hands a micro-batch to the program.
func (g *gradient[T]) load(step, micro int) {
	p := g.model.Step
	n := len(g.tokens) / g.micros
	copy(graph.Slice[int32](p.Input("tokens")), g.tokens[micro*n:])
	copy(graph.Slice[int32](p.Input("targets")), g.targets[micro*n:])
	if p.HasInput("rng") {
		setRNG(graph.Slice[int32](p.Input("rng")), &g.rng, step, micro)
	}
}

// addOutputs adds the squares of norms, of every sequence at each boundary of the stream.
func addOutputs[T graph.Float](dst []float64, out []*graph.Buffer) {
	for l, b := range out {
		dst[l] += kernel.SumSquares(graph.Slice[T](b))
	}
}

func countTargets(targets []int32) int {
	n := 0
	for _, t := range targets {
		if t != data.Ignore {
			n++
		}
	}
	return n
}

// streamKey is the key of the random numbers that belong to name: SHA-256 of
// seed, salt and name, the salt's length before it.
func streamKey(seed uint64, salt, name string) [sha256.Size]byte {
	b := binary.LittleEndian.AppendUint64(nil, seed)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(salt)))
	return sha256.Sum256(append(append(b, salt...), name...))
}

// setRNG sets the two words that all random numbers of a micro-batch derive
// from: the head of SHA-256(key, step, micro).
func setRNG(dst []int32, key *[sha256.Size]byte, step, micro int) {
	var b [sha256.Size + 16]byte
	copy(b[:], key[:])
	binary.LittleEndian.PutUint64(b[sha256.Size:], uint64(step))
	binary.LittleEndian.PutUint64(b[sha256.Size+8:], uint64(micro))
	sum := sha256.Sum256(b[:])
	for i := range dst {
		dst[i] = int32(binary.LittleEndian.Uint32(sum[4*i:]))
	}
}
