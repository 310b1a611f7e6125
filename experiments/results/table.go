package results

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"ablate/experiments/stats"
	"ablate/train/metrics"
)

// Column heads one column of a Table.
type Column struct {
	Key   string // in CSV and JSON: "val_ppl"
	Title string // for people: "val ppl"
	Text  bool   // words, aligned to the left; otherwise numbers
	Brief bool   // for people the mean alone; CSV and JSON keep the interval
}

// Table is rows of cells. A cell is a string, an int64, a metrics.Value or a
// stats.Estimate, the same kind all down a column.
type Table struct {
	Columns []Column
	Rows    [][]any
}

// formats are the ways a table can be written.
var formats = map[string]func(*Table, io.Writer) error{
	"text": (*Table).text, "md": (*Table).markdown, "csv": (*Table).csv, "json": (*Table).json, "latex": (*Table).latex,
}

// Formats lists the formats that Write knows, in the order of the manual.
func Formats() []string { return []string{"text", "md", "csv", "json", "latex"} }

// Write writes the table in one of Formats.
func (t *Table) Write(w io.Writer, format string) error {
	f, ok := formats[format]
	if !ok {
		return fmt.Errorf("format %q is none of %s", format, strings.Join(Formats(), ", "))
	}
	return f(t, w)
}

// Strings are the cells as people read them, without any escaping.
func (t *Table) Strings() [][]string {
	out := make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		out[i] = make([]string, len(row))
		for j, cell := range row {
			out[i][j] = t.Columns[j].show(cell)
		}
	}
	return out
}

func (c Column) show(cell any) string {
	switch x := cell.(type) {
	case string:
		return Printable(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case metrics.Value:
		if _, known := x.Get(); !known {
			return "–"
		}
		return Number(x.Float())
	case stats.Estimate:
		if c.Brief && x.N > 0 {
			return digits(x.Mean, 3)
		}
		return Interval(x)
	}
	panic(fmt.Sprintf("results: a table has no cells of type %T", cell))
}

// Number formats x to four significant digits.
func Number(x float64) string { return digits(x, 4) }

// digits formats x to n significant digits; whole parts are never rounded.
func digits(x float64, n int) string {
	a := math.Abs(x)
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'g', -1, 64)
	case x == 0:
		return "0"
	case a < 1e-3 || a >= 1e6:
		return strconv.FormatFloat(x, 'e', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', max(0, n-1-exponent(a, n)), 64)
}

// exponent is ⌊log₁₀ a⌋ of a after rounding to n digits.
func exponent(a float64, n int) int {
	s := strconv.FormatFloat(a, 'e', n-1, 64)
	e, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	return e
}

// Interval formats an estimate as "12.34 ± 0.56", both to the decimal where the
// half width has its second digit; where the interval is not symmetric, as
// "0.12 [0.08, 0.18]"; without one, as the mean alone; of nothing, as a dash.
func Interval(e stats.Estimate) string {
	switch {
	case e.N == 0:
		return "–"
	case !e.HasInterval():
		return Number(e.Mean)
	}
	half := e.Half()
	if math.Abs((e.Lo+e.Hi)/2-e.Mean) > 1e-9*math.Abs(e.Mean) {
		return fmt.Sprintf("%s [%s, %s]", Number(e.Mean), Number(e.Lo), Number(e.Hi))
	}
	if half == 0 || math.Abs(e.Mean) >= 1e6 || math.Abs(e.Mean) < 1e-3 {
		return Number(e.Mean) + " ± " + Number(half)
	}
	decimals := min(max(0, 1-exponent(half, 2)), 6)
	return fmt.Sprintf("%.*f ± %.*f", decimals, e.Mean, decimals, half)
}

// Without returns the table less the columns whose cells are all equal to the
// given one: a column of zeros for what did not happen.
func (t *Table) Without(key string, cell any) *Table {
	j := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Key == key })
	if j < 0 || slices.ContainsFunc(t.Rows, func(row []any) bool { return row[j] != cell }) {
		return t
	}
	out := &Table{Columns: slices.Delete(slices.Clone(t.Columns), j, j+1)}
	for _, row := range t.Rows {
		out.Rows = append(out.Rows, slices.Delete(slices.Clone(row), j, j+1))
	}
	return out
}

// Eventful returns the table less the columns that count what happened in no arm:
// unfinished runs, updates left out, spikes.
func (t *Table) Eventful() *Table {
	for _, key := range []string{"unfinished", "skipped", "spikes"} {
		t = t.Without(key, int64(0))
	}
	return t
}
