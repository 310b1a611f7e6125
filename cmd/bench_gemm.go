package cmd

import (
	"fmt"
	"math"
	"time"

	"ablate/graph"
	"ablate/ops/kernel"
)

// gemmSizes are products of training, M×N×K: activations by weights of small
// and wide models, squares, and the tiles of attention.
var gemmSizes = [][3]int{
	{1024, 512, 128}, {1024, 128, 512}, {2048, 1024, 256}, {4096, 1536, 384}, {512, 512, 512}, {1024, 1024, 1024},
	{64, 64, 32}, {128, 128, 32}, {128, 128, 64}, {256, 256, 64}, {256, 64, 256},
}

// gemmForm is a product on rows [r0, r1) of C.
type gemmForm struct {
	name string
	mul  func(r0, r1, m, n, k int, a, b, c []float32)
}

var gemmForms = []gemmForm{
	{"A·B", func(r0, r1, _, n, k int, a, b, c []float32) {
		kernel.MulNN(r1-r0, n, k, a[r0*k:], k, b, n, c[r0*n:], n, false)
	}},
	{"Aᵀ·B", func(r0, r1, m, n, k int, a, b, c []float32) {
		kernel.MulTN(r1-r0, n, k, a[r0:], m, b, n, c[r0*n:], n, false)
	}},
	{"A·Bᵀ", func(r0, r1, _, n, k int, a, b, c []float32) {
		kernel.MulNT(r1-r0, n, k, a[r0*k:], k, b, k, c[r0*n:], n, false)
	}},
}

// gemmResult is one object of the list that bench gemm --json prints.
type gemmResult struct {
	Form    string  `json:"form"`
	M       int     `json:"m"`
	N       int     `json:"n"`
	K       int     `json:"k"`
	Threads int     `json:"threads"`
	GFLOPs  float64 `json:"gflops"`
	Peak    float64 `json:"peak_gflops"`
	Share   float64 `json:"peak_share"`
}

// benchGEMM times bare matrix products, split by rows between the threads.
func (a *app) benchGEMM(seconds float64) error {
	team := graph.NewTeam(a.threads)
	defer team.Close()
	peak := fmaPeak(a.threads)
	each := time.Duration(seconds / float64(len(gemmForms)*len(gemmSizes)) * float64(time.Second))
	var all []gemmResult
	for _, f := range gemmForms {
		for _, s := range gemmSizes {
			t := bestTime(each, gemmRun(team, f, s))
			all = append(all, gemmResult{Form: f.name, M: s[0], N: s[1], K: s[2], Threads: a.threads, GFLOPs: 2 * float64(s[0]*s[1]*s[2]) / t.Seconds() / 1e9})
		}
	}
	peak = max(peak, fmaPeak(a.threads))
	logs := 0.0
	for i := range all {
		all[i].Peak, all[i].Share = peak, all[i].GFLOPs/peak
		logs += math.Log(all[i].Share)
	}
	if a.json {
		return a.printJSON(all)
	}
	a.printf("%d threads, kernels %s, peak %.1f GFLOP/s\n", a.threads, kernel.Path(), peak)
	for _, r := range all {
		a.printf("%-6s %-15s %8.1f GFLOP/s %6.1f%%\n", r.Form, fmt.Sprintf("%d×%d×%d", r.M, r.N, r.K), r.GFLOPs, 100*r.Share)
	}
	a.printf("geometric mean %.1f%%\n", 100*math.Exp(logs/float64(len(all))))
	return nil
}

// gemmRun is one product on the team. Its rows are split in twice as many
// parts as there are workers, but in none of fewer than a tile's rows.
func gemmRun(team *graph.Team, f gemmForm, s [3]int) func() {
	m, n, k := s[0], s[1], s[2]
	a, b, c := make([]float32, m*k), make([]float32, n*k), make([]float32, m*n)
	for i := range a {
		a[i] = float32(i%7) - 3
	}
	for i := range b {
		b[i] = float32(i%5) - 2
	}
	parts := 1
	if team.Size() > 1 {
		parts = max(1, min(2*team.Size(), m/28))
	}
	return func() {
		team.Do(parts, func(i int) { f.mul(m*i/parts, m*(i+1)/parts, m, n, k, a, b, c) })
	}
}

// bestTime runs f for a while and gives the shortest time of one run.
func bestTime(d time.Duration, f func()) time.Duration {
	f()
	best := time.Duration(math.MaxInt64)
	for end := time.Now().Add(d); time.Now().Before(end); {
		t := time.Now()
		f()
		best = min(best, time.Since(t))
	}
	return best
}
