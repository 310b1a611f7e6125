package metrics

// layerLog is the file of layers, which is most of what a run writes. Rows are
// formatted and written by a goroutine, while the run goes on, in batches: to
// wake it takes longer than to format the rows of a small model's step.
type layerLog struct {
	log
	rows       []Layer // of the batch to come
	text       []byte
	full, free chan layerBatch
	failed     error // of a batch that has come back
}

// layerBatch is some rows, and what became of the ones before in its place.
type layerBatch struct {
	rows []Layer
	err  error
}

// The batches that can be under way, and the rows from which on one is handed over.
const (
	layerBatches = 2
	batchRows    = 512
)

// add takes a copy of rows. An error is that of earlier ones.
func (l *layerLog) add(rows []Layer) error {
	if l.full == nil {
		l.full, l.free = make(chan layerBatch, layerBatches), make(chan layerBatch, layerBatches)
		for range layerBatches {
			l.free <- layerBatch{}
		}
		go l.serve(l.full)
	}
	l.rows = append(l.rows, rows...)
	if len(l.rows) >= batchRows {
		l.send()
	}
	return l.failed
}

// send hands the rows over.
func (l *layerLog) send() {
	b := l.take()
	b.rows, l.rows = l.rows, b.rows[:0]
	l.full <- b
}

// serve writes batches in their order until there are no more.
func (l *layerLog) serve(full <-chan layerBatch) {
	for b := range full {
		l.text = l.text[:0]
		for i := range b.rows {
			l.text = append(b.rows[i].AppendJSON(l.text), '\n')
		}
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
	if len(l.rows) > 0 {
		l.send()
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
