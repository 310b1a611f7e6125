package metrics

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
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

// TestTableGivesRowsBack: as rows and as text.
func TestTableGivesRowsBack(t *testing.T) {
	rows := append(layersOf(7, 20), row, Layer{Step: 7, Layer: NoLayer, Module: "a\"é", Value: Known(math.NaN())}, Layer{Step: 7})
	for i := range rows {
		rows[i].Step = 7
	}
	step, table, values := Split(rows)
	if step != 7 || table.Len() != len(rows) || len(values) != len(rows) {
		t.Fatalf("step %d, %d rows, %d values", step, table.Len(), len(values))
	}
	for i, want := range rows {
		line := string(append(want.AppendJSON(nil), '\n'))
		if got := table.Row(i, step, values[i]); string(got.AppendJSON(nil))+"\n" != line {
			t.Errorf("row %d came back as %+v, not %+v", i, got, want)
		}
		if got := string(table.appendRow(nil, i, step, values[i])); got != line {
			t.Errorf("row %d is written as %s, not %s", i, got, line)
		}
	}
}

// helpers call f.Idle until the test has ended; told says how many rows they do before they stop.
func helpers(t *testing.T, f *Files, n, told int) (did *atomic.Int64) {
	did = new(atomic.Int64)
	var over atomic.Bool
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for !over.Load() {
				left := told
				if f.Idle(func() bool { left--; return left < 0 }, left%2 == 0) {
					did.Add(1)
				}
				runtime.Gosched()
			}
		})
	}
	t.Cleanup(func() { over.Store(true); wg.Wait() })
	return did
}

// TestLayersAreCopied: the values are the caller's again at once, and the length
// of the file counts what has not been written, with helpers and without.
func TestLayersAreCopied(t *testing.T) {
	for name, h := range map[string]struct{ n, told int }{"alone": {}, "one": {1, 16}, "some": {3, 5}, "hasty": {2, 1}, "stopped": {2, 0}} {
		for _, blocks := range []int{0, 1, 30, 200} {
			t.Run(fmt.Sprint(name, blocks), func(t *testing.T) { recordLayers(t, blocks, h.n, h.told) })
		}
	}
}

func recordLayers(t *testing.T, blocks, n, told int) {
	dir := t.TempDir()
	f := open(t, dir)
	did := helpers(t, f, n, told)
	var want []byte
	_, table, _ := Split(layersOf(0, blocks))
	for step := range 100 {
		rows := layersOf(step, blocks)
		for _, r := range rows {
			want = append(r.AppendJSON(want), '\n')
		}
		_, other, values := Split(rows)
		if step%3 > 0 { // most steps have the same table
			other = table
		}
		if err := f.Layers(int64(step), other, values); err != nil {
			t.Fatal(err)
		}
		clear(values)
		if step%17 == 0 && f.Offsets().Layers != int64(len(want)) {
			t.Fatalf("step %d: %d bytes, want %d", step, f.Offsets().Layers, len(want))
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, LayersFile)); err != nil || string(got) != string(want) {
		t.Errorf("%v, or other bytes than were recorded", err)
	}
	if told == 0 && did.Load() > 0 {
		t.Error("who is told to stop at once has done something")
	}
}

// TestIdleWritesAll: with helpers alone everything gets written.
func TestIdleWritesAll(t *testing.T) {
	f := open(t, t.TempDir())
	for step := range keptSteps {
		if err := f.Layers(Split(layersOf(step, 10))); err != nil {
			t.Fatal(err)
		}
	}
	if f.layers.size != 0 {
		t.Fatal("rows were formatted by the one who recorded them")
	}
	never := func() bool { return false }
	if !f.Idle(never, false) || f.Idle(never, false) {
		t.Error("Idle did nothing, or something twice")
	}
	if size := f.layers.size; size == 0 || size != f.Offsets().Layers {
		t.Errorf("%d bytes of %d", size, f.Offsets().Layers)
	}
}

// TestWritingInPauses: a buffer worth it goes to the file in a pause, and otherwise where there is no more room.
func TestWritingInPauses(t *testing.T) {
	dir, never := t.TempDir(), func() bool { return false }
	f := open(t, dir)
	add := func(least int64) {
		for f.layers.size < least {
			if err := f.Layers(Split(layersOf(1, 10))); err != nil {
				t.Fatal(err)
			}
			f.Idle(never, false)
		}
	}
	written := func() int64 {
		info, err := os.Stat(filepath.Join(dir, LayersFile))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	add(worthWriting / 2)
	if f.Idle(never, true) || written() > 0 {
		t.Errorf("%d bytes of %d are written", written(), f.layers.size)
	}
	add(worthWriting)
	if f.Idle(never, false) || f.Idle(func() bool { return true }, true) || written() > 0 {
		t.Errorf("%d bytes are written outside of a pause", written())
	}
	if !f.Idle(never, true) || written() != f.layers.size {
		t.Errorf("%d bytes of %d are written in a pause", written(), f.layers.size)
	}
	whole := written()
	add(whole + layersBuffer - 64<<10)
	if written() != whole {
		t.Errorf("%d bytes are written, not %d", written(), whole)
	}
	add(whole + layersBuffer + 1)
	if written() < whole+layersBuffer {
		t.Errorf("%d bytes are written, not %d", written(), whole+layersBuffer)
	}
}

// TestIdleAfterFull: who had to write by himself lets others in again, and others let him in.
func TestIdleAfterFull(t *testing.T) {
	f := open(t, t.TempDir())
	add := func(steps int) {
		for step := range steps {
			if err := f.Layers(Split(layersOf(step, 10))); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(keptSteps + 1)
	never := func() bool { return false }
	if !f.Idle(never, false) {
		t.Error("nobody is let in any more")
	}
	add(keptSteps)
	f.layers.hurry.Store(true)
	if f.Idle(never, false) {
		t.Error("an idle worker goes before somebody who waits")
	}
	f.layers.hurry.Store(false)
	asked := 0
	f.Idle(func() bool { asked++; f.layers.hurry.Store(true); return false }, false)
	if asked > 1 {
		t.Errorf("goes on %d times though somebody waits", asked)
	}
}

// openOnFullDisk has no room for layers.
func openOnFullDisk(t *testing.T) *Files {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/full")
	}
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, LayersFile)); err != nil {
		t.Fatal(err)
	}
	return open(t, dir)
}

// TestFullDiskUnderIdle: what goes wrong for a helper comes back from the run's own calls.
func TestFullDiskUnderIdle(t *testing.T) {
	f := openOnFullDisk(t)
	if err := f.Layers(Split(layersOf(0, 2000))); err != nil {
		t.Fatal(err)
	}
	f.Idle(func() bool { return false }, false)
	for what, err := range map[string]error{"Layers": f.Layers(Split(layersOf(1, 1))), "Flush": f.Flush(), "Sync": f.Sync(), "Close": f.Close()} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s gives %v", what, err)
		}
	}
}

// TestWrongLayersPanic: where they are recorded, not in a helper.
func TestWrongLayersPanic(t *testing.T) {
	f := open(t, t.TempDir())
	step, table, values := Split(layersOf(1, 2))
	for what, wrong := range map[string]func(){
		"too few values":  func() { f.Layers(step, table, values[1:]) },
		"too many values": func() { f.Layers(step, table, append(values, values...)) },
		"two steps":       func() { Split([]Layer{{Step: 1}, {Step: 2}}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(what, "are taken")
				}
			}()
			wrong()
		}()
	}
}

// TestFullDiskUnderLayers: an error of rows recorded before ends the run,
// once, and stays.
func TestFullDiskUnderLayers(t *testing.T) {
	f := openOnFullDisk(t)
	var err error
	for step := 0; err == nil && step < 100; step++ {
		err = f.Layers(Split(layersOf(step, 100)))
	}
	for what, err := range map[string]error{"Layers": err, "Layers again": f.Layers(Split(nil)), "Flush": f.Flush(), "Close": f.Close()} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s gives %v", what, err)
		}
		if lines := fmt.Sprint(err); len(lines) > 100 {
			t.Errorf("%s says it more than once: %s", what, lines)
		}
	}
}

func BenchmarkLayerLines(b *testing.B) {
	step, table, values := Split(layersOf(1, 100))
	var buf []byte
	for b.Loop() {
		buf = buf[:0]
		for i, v := range values {
			buf = table.appendRow(buf, i, step, v)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(values)), "ns/row")
}
