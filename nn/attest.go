package nn

import (
	"fmt"
	"strings"

	"ablate/graph"
)

// Attestation says what a graph contains, read off its operations and
// parameters, not off the configuration.
type Attestation struct {
	Blocks         []BlockAttestation `json:"blocks"`
	EmbeddingScale string             `json:"embedding_scale"` // a number, or learned
	EmbeddingNorm  string             `json:"embedding_norm"`  // the operation, "" if there is none
	FinalNorm      string             `json:"final_norm"`      // the operation, "" if there is none
	Tied           bool               `json:"tied"`            // the head multiplies by the token embedding

	Params       int            `json:"params"`
	NonEmbedding int            `json:"non_embedding"` // without embedding and head
	ByRole       map[string]int `json:"by_role"`

	// FLOPsPerToken is that of a training step: 6 for every weight of a matrix
	// product and 12·H·K·(visible keys) in every block; on average T/2 keys are
	// visible under a causal mask.
	FLOPsPerToken float64 `json:"flops_per_token"`
	// KVCachePerToken is the number of elements of all keys and values.
	KVCachePerToken int `json:"kv_cache_elements_per_token"`
}

// BlockAttestation is what one block contains.
type BlockAttestation struct {
	// Placement is the formula read back from the graph. Norms and factors that
	// do nothing are not in it.
	Placement string `json:"placement"`
	// AsConfigured says whether the configured formula, evaluated for this block,
	// is the same, and whether the norms within the sub-layers are those configured.
	AsConfigured bool              `json:"as_configured"`
	Norms        []NormAttestation `json:"norms"`
	Params       int               `json:"params"`
}

// NormAttestation is one norm of a block. A norm without parameters has the name
// that the configuration gives to a norm in its place, "" if it gives none.
type NormAttestation struct {
	Name  string `json:"name"`  // of its parameters, such as norm1 of norm1.w
	Op    string `json:"op"`    // the operation
	Where string `json:"where"` // before attention, after the sum, on the queries …
}

func (n NormAttestation) String() string { return n.Name + " (" + n.Op + ", " + n.Where + ")" }

// Placements lists the formulas of all blocks, each once, with the 0-based
// blocks that have it: "0-2 N1(x + F(x))".
func (a *Attestation) Placements() []string {
	var out []string
	for from := 0; from < len(a.Blocks); {
		to := from
		for to+1 < len(a.Blocks) && a.Blocks[to+1].Placement == a.Blocks[from].Placement {
			to++
		}
		span := fmt.Sprint(from)
		if to > from {
			span = fmt.Sprintf("%d-%d", from, to)
		}
		out = append(out, span+" "+a.Blocks[from].Placement)
		from = to + 1
	}
	return out
}

// Attest reads a graph that m built. It panics if m did not build g, or if g is
// none that m can have built: a fault of this package.
func (m *Model) Attest(g *graph.Graph) Attestation {
	m.mu.Lock()
	stream := m.streams[g]
	m.mu.Unlock()
	if stream == nil {
		panic("nn: the graph is of another model")
	}
	r := newGraphReader(g)
	a := Attestation{Blocks: make([]BlockAttestation, len(m.blocks)), ByRole: map[string]int{}}
	a.EmbeddingNorm, a.EmbeddingScale = r.embedding(stream[0])
	a.FinalNorm, a.Tied = r.top(stream[len(m.blocks)])
	for _, p := range g.Params() {
		a.count(p)
		for range r.products(p.Name) {
			a.FLOPsPerToken += 6 * float64(p.Size())
		}
	}
	for l := range m.blocks {
		p, b := &m.blocks[l], &a.Blocks[l]
		built, wanted := r.block(l, stream[l], stream[l+1]), m.expected(l)
		built.nameNorms(wanted)
		b.Placement, b.Norms = built.formula(), append(outerNorms(built.out), built.inner...)
		b.AsConfigured = b.Placement == wanted.formula() && sameNorms(built.inner, wanted.inner)
		t := stream[l].Shape()[1]
		a.FLOPsPerToken += 12 * float64(built.attentionWidth) * visibleKeys(t, p.window, m.cfg.Attention.Causal)
	}
	return a
}

// count adds one parameter to the sums.
func (a *Attestation) count(p *graph.ParamSpec) {
	a.Params += p.Size()
	a.ByRole[p.Role] += p.Size()
	if p.Role != "embedding" && p.Role != "head" {
		a.NonEmbedding += p.Size()
	}
	if p.Layer < 0 {
		return
	}
	a.Blocks[p.Layer].Params += p.Size()
	if strings.HasSuffix(p.Name, ".attn.wk") || strings.HasSuffix(p.Name, ".attn.wv") {
		a.KVCachePerToken += p.Shape[0]
	}
}

// visibleKeys is the average number of keys that a query sees, in the limit of
// long sequences: T, half of it under a causal mask, and w - w²/2T within a
// causal window w, twice that without a mask.
func visibleKeys(t, window int, causal bool) float64 {
	w := float64(t)
	if window > 0 {
		w = min(w, float64(window))
	}
	keys := w - w*w/(2*float64(t))
	if !causal {
		keys *= 2
	}
	return keys
}
