package nn

import (
	"errors"
	"strings"
	"testing"
)

func TestFormulaPrintsCanonically(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"x+F(N1(x))", "x + F(N1(x))"},
		{"  N1( alpha * x + (F(x)) ) ", "N1(alpha*x + F(x))"},
		{"x = x + F(N1(x)/sqrt(l))", "x + F(N1(x)/sqrt(l))"},
		{"h=N2(x+A(x));x=h+M(h)", "h = N2(x + A(x)); h + M(h)"},
		{"x + a * F(x)", "x + a*F(x)"},
		{"x + (F(x) + x)", "x + (F(x) + x)"},
		{"(x + F(x)) + x", "x + F(x) + x"},
		{"2*(x + F(x))/(l + 1)", "2 * (x + F(x)) / (l + 1)"},
		{"x +\n F(\tN1(x))", "x + F(N1(x))"},
		{"x + a1*A(N1(x)) + a2*M(N1(x))", "x + a1*A(N1(x)) + a2*M(N1(x))"},
	} {
		f, err := ParseFormula(c.in, "alpha")
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if got := f.String(); got != c.want {
			t.Errorf("%q prints as %q, want %q", c.in, got, c.want)
		}
		again, err := ParseFormula(f.String(), "alpha")
		if err != nil || again.String() != f.String() {
			t.Errorf("%q does not read back: %v", f, err)
		}
	}
}

func TestFormulaErrorsNameTheColumn(t *testing.T) {
	for _, c := range []struct {
		in     string
		column int
		want   string
	}{
		{"", 1, "expected"},
		{"x", 1, "F must be applied once"},
		{"x + F(x) + F(x)", 12, "F is applied twice"},
		{"x + A(x)", 1, "A 1, M 0"},
		{"x + A(x) + M(x) + F(x)", 1, "F 1, A 1, M 1"},
		{"x - F(x)", 3, "- is no operator"},
		{"x * F(x)", 3, "* between the stream and the stream"},
		{"x + 2 + F(x)", 3, "+ between the stream and a constant"},
		{"x + F(y)", 7, "unknown name y"},
		{"x + G(x)", 5, "unknown function G"},
		{"x + F(2)", 5, "F of a constant"},
		{"x + F(N1(x), x)", 5, "one argument"},
		{"h = x; x + F(x)", 5, "h is assigned and not used"},
		{"h = x; h = x; h + F(h)", 7, "assigned twice"},
		{"l = x; l + F(l)", 1, "no free name"},
		{"h + F(h); x", 1, "an assignment"},
		{"y = x + F(x)", 1, "the last part"},
		{"x + g1*F(x)", 1, "learned multipliers are a, g"},
		{"x + a*A(x) + M(x)", 1, "a1, a2"},
		{"x + F(x)*sqrt(x)", 10, "sqrt of the stream"},
		{"N1(x) + F(N1(x + x))", 11, "two different values"},
		{"alpha", 1, "the stream x is not used"},
		{"x + F(x)/0", 10, "no positive decimal number"},
		{"x + 1e300*1e300*F(x)", 10, "out of range"},
		{"x.y + F(x)", 1, "no part of a formula"},
		{`x + F(x) + "s"`, 12, "no part of a formula"},
		{"x + F(x))", 9, "expected"},
		{"x + F(N1(x)", 12, "a closing parenthesis is missing"},
		{strings.Repeat("(", 200) + "x" + strings.Repeat(")", 200), 42, "nested more than"},
		{strings.Repeat("x + ", 200), 501, "longer than"},
	} {
		_, err := ParseFormula(c.in, "alpha")
		var f *FormulaError
		if !errors.As(err, &f) {
			t.Errorf("%q: %v, want a FormulaError", c.in, err)
			continue
		}
		if f.Column != c.column || !strings.Contains(f.Msg, c.want) {
			t.Errorf("%q: column %d, %s; want %d, %s", c.in, f.Column, f.Msg, c.column, c.want)
		}
	}
}

func TestPlacementTableIsConsistent(t *testing.T) {
	for name, p := range Placements {
		if p.Source == "" {
			t.Errorf("%s has no source", name)
		}
		if p.Blocks != nil {
			continue
		}
		f, err := ParseFormula(p.Formula, p.optionKeys()...)
		if err != nil {
			t.Fatal(err)
		}
		if f.String() != p.Formula {
			t.Errorf("%s: %q is not canonical, %q is", name, p.Formula, f)
		}
		// The rule for formulas of one's own gives the table's final norms.
		if want := len(f.norms) > 0 && !f.endNorm; p.FinalNorm != want {
			t.Errorf("%s: final norm %v, by rule %v", name, p.FinalNorm, want)
		}
	}
}

func FuzzFormula(f *testing.F) {
	for _, p := range Placements {
		f.Add(p.Formula)
	}
	for _, s := range []string{"x+", "h=x;h+F(h)", "N1(N2(x)+F(x))", "x + func(){}", "x + F(x) // c", "x\x00+F(x)", "é + F(x)", "x + F(x)[0]", "0x1p-2*x + F(x)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ParseFormula(text, "alpha")
		if err != nil {
			var at *FormulaError
			if !errors.As(err, &at) || at.Column < 1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := ParseFormula(g.String(), "alpha")
		if err != nil || again.String() != g.String() {
			t.Fatalf("%q prints as %q, which reads as %v (%v)", text, g, again, err)
		}
	})
}
