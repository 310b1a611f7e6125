package results_test

import (
	"os"
	"path/filepath"
	"testing"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

// FuzzLoad: whatever stands in the files of a run directory, it is read or named in
// an error.
func FuzzLoad(f *testing.F) {
	cells := `{"format":1,"name":"x","axes":["model.layers"],"cells":[{"index":0,"id":"0123456789ab","values":[2],"seed":1,"config_hash":"","params":1,"status":"done"}]}`
	row := `{"step":0,"tokens":0,"lr":0.1,"loss":2.5,"grad_norm":"NaN","clip_coef":null,"update_ratio":null,"val_loss":3,"val_ppl":20}` + "\n"
	layer := `{"step":0,"layer":3,"module":"block","param":"","quantity":"grad_norm","value":1,"numel":1}` + "\n"
	f.Add(cells, "name: x\nshow: [loss_curves]\n", `{"id":"0123456789ab","status":"done","val_loss":3,"val_ppl":"+Inf"}`, `{"model":{"params":{"total":1e99}}}`, row, layer)
	f.Add("", "", `{"status":"diverged"}`, `[]`, row+`{"step":`, layer+"\x00")
	f.Add(`{"format":2}`, "name: [", `{"status":7}`, `{`, "null\n", `{"layer":4611686018427387904,"module":"block","quantity":"grad_norm","value":1}`+"\n")
	f.Add(`{"format":1,"axes":["a"],"cells":[{"id":"../../../../x","values":[],"status":"pending"}]}`, "a: &a [*a]", "", "", "", "")
	f.Fuzz(func(t *testing.T, cells, experiment, summary, manifest, steps, layers string) {
		dir := t.TempDir()
		run := filepath.Join(dir, results.CellsDir, "0123456789ab")
		if err := os.MkdirAll(run, 0o777); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			filepath.Join(dir, results.CellsFile): cells, filepath.Join(dir, results.ExperimentFile): experiment, filepath.Join(run, results.SummaryFile): summary,
			filepath.Join(run, results.ManifestFile): manifest, filepath.Join(run, metrics.StepsFile): steps, filepath.Join(run, metrics.LayersFile): layers,
		} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		e, err := results.Load(dir)
		if err != nil {
			return
		}
		table, err := e.Table()
		if err != nil {
			return
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Columns) {
				t.Errorf("a row has %d cells for %d columns", len(row), len(table.Columns))
			}
		}
		table.Strings()
	})
}
