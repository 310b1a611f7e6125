package metrics

import "strconv"

// layerLines formats the rows of one step after the other. Nearly the same rows
// come back at every step, with other numbers, so the text around the number is
// kept by position and copied.
type layerLines struct {
	fixed []fixedText
	head  []byte // what a row of the step begins with
}

// fixedText is the text of a row around its value.
type fixedText struct {
	row   Layer // that it belongs to, whatever its Step and Value
	text  []byte
	value int // offset of the value in text
}

// appendTo appends a line for every row, each as AppendJSON gives it.
func (l *layerLines) appendTo(b []byte, rows []Layer) []byte {
	for len(l.fixed) < len(rows) {
		l.fixed = append(l.fixed, fixedText{})
	}
	for i := range rows {
		r, f := &rows[i], &l.fixed[i]
		if i == 0 || r.Step != rows[i-1].Step {
			l.head = strconv.AppendInt(append(l.head[:0], `{"step":`...), r.Step, 10)
		}
		if !f.belongsTo(r) {
			f.set(r)
		}
		b = append(append(b, l.head...), f.text[:f.value]...)
		b = append(r.Value.appendTo(b), f.text[f.value:]...)
	}
	return b
}

func (f *fixedText) belongsTo(r *Layer) bool {
	return f.text != nil && f.row.Layer == r.Layer && f.row.Numel == r.Numel &&
		f.row.Quantity == r.Quantity && f.row.Module == r.Module && f.row.Param == r.Param
}

func (f *fixedText) set(r *Layer) {
	f.row = *r
	f.text = r.appendBeforeValue(f.text[:0])
	f.value = len(f.text)
	f.text = append(r.appendAfterValue(f.text), '\n')
}

// layerLog is the file of layers, which is most of what a run writes. Rows are
// formatted and written by a goroutine, while the run goes on; at most
// layerBatches calls of add are under way.
type layerLog struct {
	log
	lines      layerLines
	text       []byte
	full, free chan layerBatch
	failed     error // of a batch that has come back
}

// layerBatch is the rows of a call of add, and what became of the last ones.
type layerBatch struct {
	rows []Layer
	err  error
}

const layerBatches = 2

// add takes a copy of rows. An error is that of earlier ones.
func (l *layerLog) add(rows []Layer) error {
	if l.full == nil {
		l.full, l.free = make(chan layerBatch, layerBatches), make(chan layerBatch, layerBatches)
		for range layerBatches {
			l.free <- layerBatch{}
		}
		go l.serve(l.full)
	}
	b := l.take()
	b.rows = append(b.rows[:0], rows...)
	l.full <- b
	return l.failed
}

// serve writes batches in their order until there are no more.
func (l *layerLog) serve(full <-chan layerBatch) {
	for b := range full {
		l.text = l.lines.appendTo(l.text[:0], b.rows)
		b.err = l.write(l.text)
		l.free <- b
	}
}

// take waits for a batch that has been written.
func (l *layerLog) take() layerBatch {
	b := <-l.free
	if l.failed == nil {
		l.failed = b.err
	}
	return b
}

// wait returns when everything has been written that was added. An error shows
// in the next add, and in flush.
func (l *layerLog) wait() {
	if l.full == nil {
		return
	}
	var all [layerBatches]layerBatch
	for i := range all {
		all[i] = l.take()
	}
	for _, b := range all {
		l.free <- b
	}
}

// end waits and lets the goroutine go.
func (l *layerLog) end() {
	l.wait()
	if l.full != nil {
		close(l.full)
		l.full = nil
	}
}
