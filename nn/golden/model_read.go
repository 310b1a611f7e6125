package golden

import (
	"fmt"
	"maps"
	"slices"

	"ablate/nn"
)

// modelFile is a model with everything that the reference computed.
type modelFile struct {
	cfg              *config
	tokens, targets  []int32
	params, grads    map[string]tensor
	logits, nll      tensor
	loss, perplexity float64
	paramNorms       map[string]float64
	layerNorms       []float64
	totalNorm        float64
	streamNorms, rms []float64 // nil in older files
	counts           *counts   // nil in older files
	kvCache          int
	training         training
	inverse          []float64 // of rope, with the factor of its tables; nil if there is none
	factor           float64
	slopes           []float64
	buckets          [][]int
	decode           *decoding // nil if there is none
}

type counts struct {
	total, nonEmbedding int
	byRole              map[string]int
	perBlock            []int
}

type training struct {
	lr, beta1, beta2, eps, decay, clip float64
	losses, norms                      []float64 // norms has one less
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (c *config) gated() bool {
	a := nn.Activations[c.act]
	return a != nil && a.Gated
}

func readModel(o *object) (*modelFile, error) {
	f := &modelFile{params: o.tensors("params"), grads: o.tensors("grads")}
	format := "golden2"
	if optional(o, "format", &format); format != "golden2" {
		return nil, fmt.Errorf("format %q is not known; known: golden2", format)
	}
	c := o.sub("config")
	if c == nil {
		return nil, fmt.Errorf("neither a model with a config nor an op")
	}
	f.cfg = readConfig(c, len(f.params))
	if len(*o.errs) > 0 {
		return nil, errorsOf(*o.errs) // the rest is read by the configuration's sizes
	}
	f.tokens = f.readIDs(o, "tokens")
	f.targets = f.readIDs(o, "targets")
	f.logits, f.nll = o.tensor("logits"), o.tensor("token_nll")
	required(o, "loss", &f.loss)
	required(o, "perplexity", &f.perplexity)
	f.readNorms(o)
	f.readCounts(o)
	f.readTraining(o)
	f.readDerived(o)
	f.decode = f.readDecoding(o)
	o.ignored("name", "fd_check_max_abs_err")
	if err := o.err(); err != nil {
		return nil, err
	}
	return f, f.checkShapes()
}

// readIDs reads tokens or targets [B][T]. A target that is not counted becomes -100.
func (f *modelFile) readIDs(o *object, key string) []int32 {
	var rows [][]int32
	required(o, key, &rows)
	if len(rows) != f.cfg.b {
		o.bad("%s: %d rows for B %d", key, len(rows), f.cfg.b)
		return nil
	}
	var ids []int32
	for _, row := range rows {
		if len(row) != f.cfg.t {
			o.bad("%s: %d ids for T %d", key, len(row), f.cfg.t)
			return nil
		}
		for _, id := range row {
			switch {
			case key == "targets" && id == f.cfg.ignore:
				id = -100
			case id < 0 || int(id) >= f.cfg.vocab:
				o.bad("%s: %d is not in a vocabulary of %d", key, id, f.cfg.vocab)
			}
			ids = append(ids, id)
		}
	}
	return ids
}

func (f *modelFile) readNorms(o *object) {
	required(o, "param_grad_norms", &f.paramNorms)
	required(o, "layer_grad_norms", &f.layerNorms)
	required(o, "total_grad_norm", &f.totalNorm)
	optional(o, "residual_grad_norms", &f.streamNorms)
	optional(o, "residual_rms", &f.rms)
}

func (f *modelFile) readCounts(o *object) {
	optional(o, "kv_cache_elements_per_token", &f.kvCache)
	s := o.sub("param_counts")
	if s == nil {
		return
	}
	f.counts = &counts{}
	required(s, "total", &f.counts.total)
	required(s, "non_embedding", &f.counts.nonEmbedding)
	required(s, "by_role", &f.counts.byRole)
	required(s, "per_block", &f.counts.perBlock)
	s.end()
}

func (f *modelFile) readTraining(o *object) {
	s := o.sub("train")
	if s == nil {
		o.bad("train: missing")
		return
	}
	t := &f.training
	for _, k := range []struct {
		key string
		dst *float64
	}{{"lr", &t.lr}, {"beta1", &t.beta1}, {"beta2", &t.beta2}, {"eps", &t.eps}, {"weight_decay", &t.decay}, {"clip", &t.clip}} {
		required(s, k.key, k.dst)
	}
	var trace []map[string]float64
	required(s, "trace", &trace)
	s.end()
	if len(trace) < 1 || len(trace) > maxSteps {
		o.bad("train: a trace of %d steps; from 1 to %d are read", len(trace), maxSteps)
		return
	}
	for i, e := range trace {
		for _, key := range sortedKeys(e) {
			if key != "loss" && key != "grad_norm_before_clip" {
				o.bad("train: trace: not known: %s", key)
			}
		}
		if _, ok := e["loss"]; !ok {
			o.bad("train: step %d has no loss", i)
		}
		t.losses = append(t.losses, e["loss"])
		if n, ok := e["grad_norm_before_clip"]; ok && i < len(trace)-1 {
			t.norms = append(t.norms, n)
		} else if i < len(trace)-1 {
			o.bad("train: step %d has no grad_norm_before_clip", i)
		}
	}
}

// maxSteps bounds the steps of training that a file may ask for.
const maxSteps = 100

// readDerived reads what the reference derived from the configuration.
func (f *modelFile) readDerived(o *object) {
	if s := o.sub("rope"); s != nil {
		rotated := 0
		required(s, "rotated_dims", &rotated)
		required(s, "inv_freq", &f.inverse)
		required(s, "cos_sin_multiplier", &f.factor)
		s.end()
		if 2*len(f.inverse) != rotated {
			o.bad("rope: %d frequencies for %d rotated dims", len(f.inverse), rotated)
		}
	}
	optional(o, "alibi_slopes", &f.slopes)
	optional(o, "t5_bucket_table", &f.buckets)
}

// checkShapes holds the results' shapes against the configuration, and the
// gradients' against the parameters'.
func (f *modelFile) checkShapes() error {
	c := f.cfg
	var errs []error
	want := func(what string, got []int, want ...int) {
		if !slices.Equal(got, want) {
			errs = append(errs, fmt.Errorf("%s: shape %v; %v is wanted", what, got, want))
		}
	}
	want("logits", f.logits.shape, c.b, c.t, c.vocab)
	want("token_nll", f.nll.shape, c.b, c.t)
	for _, name := range sortedKeys(f.params) {
		if g, ok := f.grads[name]; !ok {
			errs = append(errs, fmt.Errorf("grads: %s is missing", name))
		} else {
			want("grads: "+name, g.shape, f.params[name].shape...)
		}
	}
	for _, name := range sortedKeys(f.grads) {
		if _, ok := f.params[name]; !ok {
			errs = append(errs, fmt.Errorf("grads: %s is no parameter", name))
		}
	}
	return errorsOf(errs)
}
