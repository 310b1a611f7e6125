package metrics

import "strconv"

// Table lists what is looked at in a step: the rows of layers.jsonl but for step and value. Their text is made once,
// since a run writes it again and again.
type Table struct {
	rows []Layer
	text []rowText
}

// rowText is the text between a row's step and its value, and that behind it.
type rowText struct{ before, behind []byte }

// NewTable makes a table of rows, whose steps and values do not count.
func NewTable(rows []Layer) *Table {
	t := &Table{rows: make([]Layer, len(rows)), text: make([]rowText, len(rows))}
	for i, r := range rows {
		r.Step, r.Value = 0, Value{}
		t.rows[i] = r
		t.text[i] = rowText{r.appendBefore(nil), append(r.appendBehind(nil), '\n')}
	}
	return t
}

// Split takes the rows of one step apart, for Sink.Layers.
func Split(rows []Layer) (step int64, t *Table, values []Value) {
	for _, r := range rows {
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
	b = strconv.AppendInt(append(b, rowStart...), step, 10)
	b = v.appendTo(append(b, t.text[i].before...))
	return append(b, t.text[i].behind...)
}
