package metrics

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// layersOf is what a model of n blocks gives at a step.
func layersOf(step, n int) (rows []Layer) {
	for l := range n {
		for i, quantity := range []string{GradNorm, GradRMS, WeightNorm, UpdateRatio} {
			v := Known(math.Sin(float64(step+1)) * math.Pow(10, float64(l%40-20)) / float64(i+1))
			rows = append(rows, Layer{Step: int64(step), Layer: l - 1, Module: "attn.q", Quantity: quantity, Value: v, Numel: int64(l * l)})
		}
	}
	return rows
}

// crowd runs every part in a goroutine of its own.
func crowd(parts int, f func(part int)) {
	var wg sync.WaitGroup
	for part := range parts {
		wg.Go(func() { f(part) })
	}
	wg.Wait()
}

// TestLayersAreCopied: the rows are the caller's again at once, and the length
// of the file counts what has not been written, with workers and without.
func TestLayersAreCopied(t *testing.T) {
	for name, share := range map[string]func(int, func(int)){"alone": nil, "shared": crowd} {
		for _, blocks := range []int{1, 30, 200} {
			t.Run(fmt.Sprint(name, blocks), func(t *testing.T) { recordLayers(t, share, blocks) })
		}
	}
}

func recordLayers(t *testing.T, share func(parts int, f func(part int)), blocks int) {
	dir := t.TempDir()
	f := open(t, dir)
	f.Share(share)
	var want []byte
	for step := range 50 {
		rows := layersOf(step, blocks)
		for _, r := range rows {
			want = append(r.AppendJSON(want), '\n')
		}
		if err := f.Layers(rows); err != nil {
			t.Fatal(err)
		}
		clear(rows)
		if step%7 == 0 && f.Offsets().Layers != int64(len(want)) {
			t.Fatalf("step %d: %d bytes, want %d", step, f.Offsets().Layers, len(want))
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, LayersFile)); err != nil || string(got) != string(want) {
		t.Errorf("%v, or other bytes than were recorded", err)
	}
}

// TestFullDiskUnderLayers: an error of rows recorded before ends the run,
// once, and stays.
func TestFullDiskUnderLayers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/full")
	}
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, LayersFile)); err != nil {
		t.Fatal(err)
	}
	f := open(t, dir)
	var err error
	for step := 0; err == nil && step < 100; step++ {
		err = f.Layers(layersOf(step, 100))
	}
	for what, err := range map[string]error{"Layers": err, "Layers again": f.Layers(nil), "Flush": f.Flush(), "Close": f.Close()} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s gives %v", what, err)
		}
		if lines := fmt.Sprint(err); len(lines) > 100 {
			t.Errorf("%s says it more than once: %s", what, lines)
		}
	}
}

func BenchmarkLayerLines(b *testing.B) {
	rows := layersOf(1, 100)
	var buf []byte
	for b.Loop() {
		buf = buf[:0]
		for i := range rows {
			buf = append(rows[i].AppendJSON(buf), '\n')
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
}
