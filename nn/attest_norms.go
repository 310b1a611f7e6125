package nn

import (
	"cmp"
	"slices"
	"strings"
)

// place is where a norm within a sub-layer sits, and the name that it has there.
type place struct{ name, where string }

var (
	// operands are the places on the first operands of the attention.
	operands = []place{{"attn.q_norm", "on the queries"}, {"attn.k_norm", "on the keys"}, {"attn.v_norm", "on the values"}}
	// ends are the places before the last projections, by sub-layer.
	ends = map[string]place{"A": {"attn.inner_norm", "before the output projection"}, "M": {"ffn.inner_norm", "before the down projection"}}
)

// norm is a norm at a place. Its parameters name it; the place does if there are none.
func (p place) norm(name, op string) NormAttestation {
	return NormAttestation{cmp.Or(name, p.name), op, p.where}
}

// innerNorms are the norms within the sub-layers of block l that the configuration
// asks for, without their operations.
func (m *Model) innerNorms(l int) []NormAttestation {
	c, p := &m.cfg, &m.blocks[l]
	var norms []NormAttestation
	add := func(wanted bool, at place) {
		if wanted {
			norms = append(norms, at.norm("", ""))
		}
	}
	qk := p.qkvNorm || c.Attention.QKNorm != "none"
	for i, wanted := range []bool{qk, qk, p.qkvNorm} {
		add(wanted, operands[i])
	}
	for _, sublayer := range []string{"A", "M"} {
		add(p.innerNorm && string(c.Norm.Kind) != noNorm.Name, ends[sublayer])
	}
	return norms
}

// sameNorms compares names and places, in any order.
func sameNorms(a, b []NormAttestation) bool {
	sorted := func(norms []NormAttestation) (out []string) {
		for _, n := range norms {
			out = append(out, n.Name+" "+n.Where)
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(sorted(a), sorted(b))
}

// nameNorms gives the norms of a built block that have no parameters, and so no
// names, those of the norms in their places in the block that the configuration asks
// for. They stay without where the two are not wired alike.
func (b *builtBlock) nameNorms(wanted *builtBlock) {
	twins := map[*step]*step{}
	var alike func(s, w *step) bool
	alike = func(s, w *step) bool {
		if twin, ok := twins[s]; ok {
			return twin == w
		}
		twins[s] = w
		return s.kind == w.kind && slices.EqualFunc(s.args, w.args, alike)
	}
	if !alike(b.out, wanted.out) {
		return
	}
	for s, w := range twins {
		if s.kind == stepNorm && s.name == "" {
			s.name = w.name
		}
	}
}

// outerNorms says of every norm outside of the sub-layers where it sits.
func outerNorms(out *step) []NormAttestation {
	all := descendants(out)
	var norms []NormAttestation
	for _, s := range all {
		if s.kind != stepNorm {
			continue
		}
		where := "on the stream"
		if below := unscaled(s.args[0]); below.kind == stepSublayer {
			where = "after " + sublayerNames[below.name]
		} else if before, only := readers(s, all); only {
			where = "before " + strings.Join(before, " and ")
		} else if below.kind == stepSum {
			where = "after the sum"
		}
		norms = append(norms, NormAttestation{s.name, s.op, where})
	}
	return norms
}

var sublayerNames = map[string]string{"A": "attention", "M": "ffn"}

// unscaled goes down through factors.
func unscaled(s *step) *step {
	for s.kind == stepScale || s.kind == stepLearned {
		s = s.args[0]
	}
	return s
}

// readers lists the sub-layers that read s, directly or through factors, and
// says whether nothing else does.
func readers(s *step, all []*step) (names []string, only bool) {
	only = true
	for _, r := range all {
		for _, a := range r.args {
			switch {
			case a != s:
			case r.kind == stepSublayer:
				names = append(names, sublayerNames[r.name])
			case r.kind == stepScale || r.kind == stepLearned:
				more, ok := readers(r, all)
				names, only = append(names, more...), only && ok
			default:
				only = false
			}
		}
	}
	return names, only && len(names) > 0
}
