package metrics

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var (
	step = Step{Step: 3, Tokens: 1536, LR: Known(1e-3), Loss: Known(5.545177444479562), GradNorm: Known(math.Inf(1)),
		ClipCoef: Known(math.NaN()), ValLoss: Known(math.Inf(-1))}
	row    = Layer{Step: 3, Layer: 1, Module: "attn.q", Param: "block.1.attn.wq", Quantity: GradNorm, Value: Known(0.1), Numel: 4096}
	timing = Timing{Step: 3, Seconds: Known(0.25)}
)

func TestLinesAreExact(t *testing.T) {
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{step.AppendJSON(nil), `{"step":3,"tokens":1536,"lr":0.001,"loss":5.545177444479562,"grad_norm":"+Inf","clip_coef":"NaN","update_ratio":null,"val_loss":"-Inf","val_ppl":null}`},
		{row.AppendJSON(nil), `{"step":3,"layer":1,"module":"attn.q","param":"block.1.attn.wq","quantity":"grad_norm","value":0.1,"numel":4096}`},
		{Layer{Layer: NoLayer, Module: "a\"<\n\x01é"}.AppendJSON(nil), `{"step":0,"layer":null,"module":"a\"\u003c\n\u0001é","param":"","quantity":"","value":null,"numel":0}`},
		{timing.AppendJSON(nil), `{"step":3,"seconds":0.25,"tokens_per_s":null}`},
	} {
		if string(c.got) != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

// The appenders are written by hand for speed; encoding/json must agree.
func TestAppendAgreesWithEncodingJSON(t *testing.T) {
	for _, r := range []interface{ AppendJSON([]byte) []byte }{step, row, timing} {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.AppendJSON(nil); !bytes.Equal(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestValueRoundTrip(t *testing.T) {
	for _, x := range []float64{0, 1, -1, 0.1, 1e-300, 5e-324, math.MaxFloat64, 1e6, 1e21, 1.0 / 3, math.NaN(), math.Inf(1), math.Inf(-1)} {
		b, err := json.Marshal(Known(x))
		if err != nil {
			t.Fatal(err)
		}
		var v Value
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		got, known := v.Get()
		if !known || math.Float64bits(got) != math.Float64bits(x) && !(math.IsNaN(got) && math.IsNaN(x)) {
			t.Errorf("%v went out as %s and came back as %v", x, b, v)
		}
	}
	v := Known(1)
	if err := json.Unmarshal([]byte("null"), &v); err != nil || v != (Value{}) {
		t.Errorf("null gives %v, %v; want the unknown value", v, err)
	}
	for _, bad := range []string{`"nan"`, `"1"`, `true`, `[1]`, `{}`} {
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s was taken for a number", bad)
		}
	}
}

func TestSummarySurvivesDivergence(t *testing.T) {
	in := Summary{ID: "0123456789ab", Status: Diverged, TrainLoss: Known(math.NaN()), GradNorm: Known(math.Inf(1))}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var out Summary
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(out.TrainLoss.Float()) || !math.IsInf(out.GradNorm.Float(), 1) || out.ValLoss != (Value{}) || out.Status != Diverged {
		t.Errorf("came back as %+v", out)
	}
	const order = `"id" "dir" "status" "steps" "tokens" "params" "train_loss" "val_loss" "val_ppl" "val_bpb" "entropy" "excess" "grad_norm" "tokens_per_s" "peak_rss_bytes" "config_hash" "data_hash" "weights_sha256"`
	rest := string(b)
	for _, key := range strings.Fields(order) {
		_, after, ok := strings.Cut(rest, key+":")
		if !ok {
			t.Fatalf("%s is missing or out of order in %s", key, b)
		}
		rest = after
	}
}

func collect[T any](t *testing.T, seq iter.Seq2[T, error]) (list []T, err error) {
	t.Helper()
	for r, e := range seq {
		if e != nil {
			return list, e
		}
		list = append(list, r)
	}
	return list, nil
}

func TestReaders(t *testing.T) {
	line := string(row.AppendJSON(nil)) + "\n"
	other := `{"step": 3, "layer": 0, "module": "grad_norm", "param": "", "quantity": "weight_norm", "value": 1, "numel": 1}` + "\n"
	for _, c := range []struct {
		name, in string
		rows     int
		fault    string
	}{
		{"two rows", line + other, 2, ""},
		{"empty", "", 0, ""},
		{"torn last line", line + line[:40], 1, ""},
		{"last line without newline", line + strings.TrimSpace(line), 2, ""},
		{"zeros left by a power cut", line + "\x00\x00\x00", 1, ""},
		{"blank lines and CRLF", "\r\n" + strings.ReplaceAll(line, "\n", "\r\n") + "\n", 1, ""},
		{"fault inside", line + "{\n" + line, 1, "line 2"},
		{"overlong line", line + strings.Repeat(" ", maxLine+1), 1, "longer than"},
	} {
		got, err := collect(t, ReadLayers(strings.NewReader(c.in)))
		if len(got) != c.rows || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %d rows, error %v; want %d, %q", c.name, len(got), err, c.rows, c.fault)
		}
	}
	got, err := collect(t, ReadLayers(strings.NewReader(other+line), GradNorm))
	if err != nil || len(got) != 1 || got[0] != row {
		t.Errorf("filtered: %v, %v; want the one row of grad_norm", got, err)
	}
	for range ReadLayers(strings.NewReader(line+line), GradNorm) {
		break // stopping early must not panic
	}
}

func record(t *testing.T, s Sink, from, to int64) {
	t.Helper()
	for i := from; i < to; i++ {
		err := errors.Join(s.Step(Step{Step: i, Loss: Known(1 / float64(i+1))}),
			s.Layers(Split([]Layer{{Step: i, Quantity: GradNorm}, {Step: i, Layer: NoLayer}})), s.Timing(Timing{Step: i}))
		if err != nil {
			t.Fatal(err)
		}
	}
}

func contents(t *testing.T, dir string) (all string) {
	t.Helper()
	for _, name := range []string{StepsFile, LayersFile, TimingFile} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all += string(b)
	}
	return all
}

func open(t *testing.T, dir string) *Files {
	t.Helper()
	f, err := OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestResumeGivesTheSameBytes(t *testing.T) {
	whole, cut := t.TempDir(), t.TempDir()
	f := open(t, whole)
	record(t, f, 0, 20)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = open(t, cut)
	record(t, f, 0, 7)
	at := f.Offsets()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	record(t, f, 7, 11)
	f.Close()
	// The process died half-way through a row.
	torn, err := os.OpenFile(filepath.Join(cut, StepsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	torn.WriteString(`{"step":11,"tok`)
	torn.Close()
	f = open(t, cut)
	if err := f.Truncate(at); err != nil {
		t.Fatal(err)
	}
	if f.Offsets() != at {
		t.Errorf("offsets after cutting: %v, want %v", f.Offsets(), at)
	}
	record(t, f, 7, 20)
	f.Close()
	if contents(t, cut) != contents(t, whole) {
		t.Error("the resumed run's files differ from the unbroken one's")
	}
}

func TestTruncateRefusesLostRows(t *testing.T) {
	f := open(t, t.TempDir())
	record(t, f, 0, 3)
	at := f.Offsets()
	at.Metrics++
	if err := f.Truncate(at); err == nil || !strings.Contains(err.Error(), StepsFile) {
		t.Errorf("got %v; want an error that names %s", err, StepsFile)
	}
	at.Metrics--
	for _, n := range []*int64{&at.Metrics, &at.Layers} { // in the middle of a row
		*n -= 3
		if err := f.EndRows(at); err == nil || !strings.Contains(err.Error(), "no row of ") {
			t.Errorf("got %v; want an error that says where", err)
		}
		*n += 3
	}
	if err := errors.Join(f.EndRows(at), f.EndRows(Offsets{})); err != nil {
		t.Errorf("rows end there, but: %v", err)
	}
	at.Timing += 100
	if err := f.Truncate(at); err != nil {
		t.Errorf("timing rows are not promised, but: %v", err)
	}
	if f.Offsets().Layers != at.Layers {
		t.Error("a refused or harmless cut removed rows")
	}
}

func TestOpenFilesSaysWhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "absent")
	if _, err := OpenFiles(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v; want an error with the path", err)
	}
}

type broken struct{ Memory }

func (*broken) Step(Step) error { return errors.New("disk full") }

func TestTee(t *testing.T) {
	a, b := new(Memory), new(Memory)
	s := Tee(a, new(broken), b)
	if err := s.Step(step); err == nil {
		t.Error("the error of one sink was lost")
	}
	if err := errors.Join(s.Layers(Split([]Layer{row, row})), s.Timing(timing), s.Flush(), s.Close()); err != nil {
		t.Error(err)
	}
	for _, m := range []*Memory{a, b} {
		if len(m.Steps) != 1 || len(m.LayerRows) != 2 || len(m.Timings) != 1 {
			t.Errorf("a sink has %d, %d, %d records", len(m.Steps), len(m.LayerRows), len(m.Timings))
		}
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	f := open(t, t.TempDir())
	at, table, values := Split([]Layer{row, row, row})
	record(t, f, 0, 1)
	all := func() { f.Step(step); f.Layers(at, table, values); f.Timing(timing) }
	for range keptSteps {
		all()
	}
	if n := testing.AllocsPerRun(100, all); n > 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// The fast scanner takes only what encoding/json takes, and reads the same in it.
func FuzzScan(f *testing.F) {
	f.Add(row.AppendJSON(nil))
	f.Add(Layer{Layer: NoLayer, Module: "é", Value: Known(math.NaN())}.AppendJSON(nil))
	for _, value := range []string{"-0", "0.5", "-1e-7", "1.", "01", ".5", "1.e5", "0x1p4", "1_0", "Inf", "1e999", `"-Inf"`, `"Inf"`, "null", "", "-", "1e", "+1"} {
		f.Add([]byte(`{"step":3,"layer":1,"module":"m","param":"","quantity":"q","value":` + value + `,"numel":1}`))
	}
	f.Add([]byte(`{"step":03,"layer":1,"module":"m","param":"","quantity":"q","value":1,"numel":1}`))
	f.Add([]byte(`{"step":3,"layer":1,"module":"m\u0041","param":"","quantity":"q","value":1,"numel":9999999999999999999}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var fast, slow Layer
		if !new(scanner).layer(line, &fast) {
			return
		}
		if err := json.Unmarshal(line, &slow); err != nil {
			t.Fatalf("%s was read, but is no JSON: %v", line, err)
		}
		if a, b := fast.AppendJSON(nil), slow.AppendJSON(nil); !bytes.Equal(a, b) {
			t.Fatalf("read as %s instead of %s", a, b)
		}
	})
}

// What AppendJSON writes of plain names, the scanner reads without help.
func TestScanReadsWhatIsWritten(t *testing.T) {
	for _, v := range []Value{{}, Known(0), Known(math.Copysign(0, -1)), Known(-1.5), Known(1e-9), Known(1e300), Known(math.NaN()), Known(math.Inf(-1))} {
		in := row
		in.Value = v
		var out Layer
		if !new(scanner).layer(in.AppendJSON(nil), &out) || !bytes.Equal(out.AppendJSON(nil), in.AppendJSON(nil)) {
			t.Errorf("%s came back as %s", in.AppendJSON(nil), out.AppendJSON(nil))
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(append(row.AppendJSON(nil), '\n'))
	f.Add(append(step.AppendJSON(nil), '\n'))
	f.Add([]byte("{\"value\":\"NaN\"}\n{\"layer\":null}\n"))
	f.Add([]byte("\x00\n[]\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		for l, err := range ReadLayers(bytes.NewReader(in)) {
			if err != nil {
				continue
			}
			// What was read can be written and read again to the same bytes.
			out := l.AppendJSON(nil)
			var again Layer
			if err := json.Unmarshal(out, &again); err != nil || !bytes.Equal(again.AppendJSON(nil), out) {
				t.Fatalf("%s: %v", out, err)
			}
		}
		for range ReadSteps(bytes.NewReader(in)) {
		}
		for range ReadTiming(bytes.NewReader(in)) {
		}
	})
}

func BenchmarkReadLayers(b *testing.B) {
	var in []byte
	for range 1000 {
		in = append(row.AppendJSON(in), '\n')
	}
	for b.Loop() {
		for _, err := range ReadLayers(bytes.NewReader(in)) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkAppendLayer(b *testing.B) {
	var buf []byte
	for b.Loop() {
		buf = row.AppendJSON(buf[:0])
	}
}
