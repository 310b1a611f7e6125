package metrics

import (
	"fmt"
	"slices"
	"strconv"
)

// Table lists what is looked at in a step: the rows of layers.jsonl but for step and value. Their text is made once,
// since a run writes it again and again.
type Table struct {
	rows []Layer
	text []byte // of one row after the other, without what differs from step to step
	cuts []cut  // by row
}

// cut is where in the text a row's value belongs, and where the row ends.
type cut struct{ value, end int32 }

// NewTable makes a table of rows, whose steps and values do not count.
func NewTable(rows []Layer) *Table {
	t := &Table{rows: slices.Clone(rows), cuts: make([]cut, len(rows))}
	for i, r := range rows {
		t.text = r.appendBefore(t.text)
		t.cuts[i].value = int32(len(t.text))
		t.text = append(r.appendBehind(t.text), '\n')
		t.cuts[i].end = int32(len(t.text))
	}
	return t
}

// Split takes rows apart for Sink.Layers. It panics if they are not all of one step.
func Split(rows []Layer) (step int64, t *Table, values []Value) {
	for _, r := range rows {
		if r.Step != rows[0].Step {
			panic(fmt.Sprintf("metrics: rows of steps %d and %d together", rows[0].Step, r.Step))
		}
		step, values = r.Step, append(values, r.Value)
	}
	return step, NewTable(rows), values
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Row is row i with its value at a step.
func (t *Table) Row(i int, step int64, v Value) Layer {
	r := t.rows[i]
	r.Step, r.Value = step, v
	return r
}

// appendRow appends the line of Row(i, step, v).
func (t *Table) appendRow(b []byte, i int, step int64, v Value) []byte {
	start, c := int32(0), t.cuts[i]
	if i > 0 {
		start = t.cuts[i-1].end
	}
	b = strconv.AppendInt(append(b, rowStart...), step, 10)
	b = v.appendTo(append(b, t.text[start:c.value]...))
	return append(b, t.text[c.value:c.end]...)
}
