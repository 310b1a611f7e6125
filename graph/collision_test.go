package graph

import (
	"hash"
	"testing"

	"gorgonia.org/gorgonia"
)

// colliding is an op whose hash never differs, as two nodes' hashes may by
// accident; only its number tells it apart.
type colliding struct{ *nodeOp }

func (c colliding) WriteHash(hash.Hash) {}

type identity struct{}

func (identity) String() string                    { return "identity" }
func (identity) Infer(in []Shape) ([]Shape, error) { return in[:1], nil }
func (identity) Bind(c *Call) []Task               { return nil }
func (identity) Grad(_, _, d []*Node) []*Node      { return d }

// Gorgonia finds equal nodes by a 32-bit hash and compares no operands. With
// every hash forced to collide, the op's number must keep nodes apart.
func TestForcedHashCollisionsStayApart(t *testing.T) {
	_, err := Build(Float64, func(s *Scope) {
		x := s.Floats("x", 2, 3)
		var nodes []*Node
		for range 3 {
			s.g.nops++
			y := Apply1(identity{}, x)
			op := colliding{y.Op().(*nodeOp)}
			n, err := gorgonia.ApplyOp(op, x)
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, n)
		}
		if nodes[0].Hashcode() != nodes[1].Hashcode() {
			t.Fatal("the hashes were to collide")
		}
		if nodes[0] == nodes[1] || nodes[1] == nodes[2] || nodes[0] == nodes[2] {
			t.Error("two operations became one node")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A sum of gradients that Gorgonia took for another one is noticed.
func TestMergedSumIsNoticed(t *testing.T) {
	_, err := Build(Float64, func(s *Scope) {
		x := s.Param(ParamSpec{Name: "x", Shape: Shape{2, 3}, Init: Constant(1)})
		y := Add(Apply1(identity{}, x), Apply1(identity{}, x))
		s.Gradients(y, s.Floats("seed", 2, 3))
		if s.g.checkSums() != nil {
			t.Error("a sound sum was refused")
		}
		terms := s.g.contributions[x]
		if len(terms) != 2 {
			t.Fatalf("%d contributions to the gradient of x, want 2", len(terms))
		}
		terms[1] = Apply1(identity{}, x)
		if s.g.checkSums() == nil {
			t.Error("a sum with a foreign term passed")
		}
		terms[1] = children(s.g.expr, x.Deriv())[1]
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Gorgonia may give an operation with several results, as their gradient, a
// sum that is something else: Build then numbers the operations anew.
func TestForeignGradientOfSeveralResults(t *testing.T) {
	tries := 0
	_, err := Build(Float64, func(s *Scope) {
		x := s.Floats("x", 2)
		y := Apply1(identity{}, x)
		if tries++; tries == 1 {
			y.Op().(*nodeOp).unpack(Apply1(identity{}, y), make([]*Node, 2))
		}
	})
	if err != nil || tries != 2 {
		t.Errorf("%v after %d attempts, want success at the second", err, tries)
	}
}
