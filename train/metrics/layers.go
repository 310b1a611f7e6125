package metrics

// layerLog is the file of layers, which is most of what a run writes. Rows are
// kept until there are enough of them to be shared out: then some workers
// format them, while one writes the text of the rows before.
type layerLog struct {
	log
	share  func(parts int, f func(part int)) // lent by the run; nil where there is nobody to share with
	rows   []Layer                           // not yet formatted
	work   []Layer                           // being formatted
	texts  [][]byte                          // by part of work
	before [][]byte                          // not yet written
	part   func(part int)                    // runPart, made once
	failed error                             // of the first write that failed
}

// batchRows is the number of rows from which on they are formatted, partRows
// that of a part of them: some ten microseconds of a worker.
const (
	batchRows = 512
	partRows  = 128
)

// add takes a copy of rows, or their text. An error is that of earlier ones.
func (l *layerLog) add(rows []Layer) error {
	if len(l.rows) == 0 && len(rows) >= batchRows {
		l.format(rows)
		return l.failed
	}
	l.rows = append(l.rows, rows...)
	if len(l.rows) >= batchRows {
		l.format(l.rows)
		l.rows = l.rows[:0]
	}
	return l.failed
}

// format formats rows and writes the text of the ones before.
func (l *layerLog) format(rows []Layer) {
	if l.part == nil {
		l.part = l.runPart
	}
	n := (len(rows) + partRows - 1) / partRows
	for len(l.texts) < n {
		l.texts = append(l.texts, nil)
	}
	l.texts, l.work = l.texts[:n], rows
	if l.share != nil {
		l.share(1+n, l.part)
	} else {
		for i := range 1 + n {
			l.runPart(i)
		}
	}
	l.texts, l.before, l.work = l.before[:cap(l.before)], l.texts, nil
}

// runPart does one part of format. Writing, the longest, is the first.
func (l *layerLog) runPart(part int) {
	if part == 0 {
		l.writeBefore()
		return
	}
	from := (part - 1) * partRows
	text := l.texts[part-1][:0]
	for i := range l.work[from:min(from+partRows, len(l.work))] {
		text = append(l.work[from+i].AppendJSON(text), '\n')
	}
	l.texts[part-1] = text
}

// writeBefore writes what has been formatted.
func (l *layerLog) writeBefore() {
	for _, text := range l.before {
		if err := l.write(text); err != nil && l.failed == nil {
			l.failed = err
		}
	}
	l.before = l.before[:0]
}

// drain formats and writes everything that was added. An error shows in the
// next add, and in flush.
func (l *layerLog) drain() {
	if len(l.rows) > 0 {
		l.format(l.rows)
		l.rows = l.rows[:0]
	}
	l.writeBefore()
}
