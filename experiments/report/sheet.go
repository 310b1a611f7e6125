package report

import (
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A sheet is small multiples: panels that share their axes, a title, a legend.
// It is laid out for the width it is given; where a grid would be too narrow to
// read, its panels stand below each other.
type sheet struct {
	title  string
	legend []key
	scale  *scale
	panels []panel
	cols   int // most panels in a row
	block  int // panels that begin a row of their own, such as those of one moment; 0 for all

	xLabel, yLabel string
	x, y           axis
	height         vg.Length // of a panel's data area

	hovers []hover // of the last drawing
}

// A panel is one pair of axes with its marks.
type panel struct {
	title string
	marks []plot.Plotter
}

// An axis is the range and the ticks of every panel.
type axis struct {
	lo, hi float64
	log    bool
	ticks  plot.Ticker
	grid   bool
}

// A key is an entry of the legend.
type key struct {
	text   string
	colour ink
	shape  draw.GlyphDrawer // nil: a line
	dashes []vg.Length
}

const (
	minPanel  = 1.5 * vg.Inch // data narrower than this is unreadable
	titleLine = 10            // of a panel's title
	gapX      = 20
	rowGap    = 8
	margin    = 4
	lastLabel = 3 // at the right, for half of the last tick label
)

// columns is how many panels stand side by side: as many as fit, or fewer where the rows of a block are as many then.
func (s *sheet) columns(width vg.Length) int {
	fit := min(s.cols, max(1, int(width/minPanel)))
	return ceil(s.together(), ceil(s.together(), fit))
}

// together is the number of panels in a block.
func (s *sheet) together() int {
	if s.block > 0 {
		return s.block
	}
	return len(s.panels)
}

// rows is how many rows of so many columns there are.
func (s *sheet) rows(cols int) int {
	return ceil(len(s.panels), s.together()) * ceil(s.together(), cols)
}

// place is where panel i stands, and whether none stands below it.
func (s *sheet) place(i, cols int) (row, col int, bottom bool) {
	block, j := i/s.together(), i%s.together()
	last := (block+1)*s.together() >= len(s.panels)
	return block*ceil(s.together(), cols) + j/cols, j % cols, last && j+cols >= s.together()
}

func ceil(n, by int) int { return (n + by - 1) / by }

// size returns the height that the sheet takes at a width.
func (s *sheet) size(width vg.Length) vg.Length {
	rows := vg.Length(s.rows(s.columns(width)))
	return s.header(nil, width) + rows*(s.height+s.head(width)) + (rows-1)*rowGap + s.footer() + 2*margin
}

// head is the room above each panel: for the lines of the longest title, or
// for half a tick label.
func (s *sheet) head(width vg.Length) vg.Length {
	lines := 0
	for _, p := range s.panels {
		if p.title != "" {
			lines = max(lines, len(wrap(p.title, panelStyle.Width, s.dataWidth(width))))
		}
	}
	return 5 + titleLine*vg.Length(lines)
}

// dataWidth is the width of a panel between its axes' ends.
func (s *sheet) dataWidth(width vg.Length) vg.Length {
	cols := vg.Length(s.columns(width))
	return (width - 2*margin - s.leftMargin() - (cols-1)*gapX - lastLabel) / cols
}

// footer is the room for the tick labels and the label of the x axis.
func (s *sheet) footer() vg.Length {
	h := tickStyle.Height("0") + 3
	if s.xLabel != "" {
		h += labelStyle.Height(s.xLabel) + 4
	}
	return h
}

// draw lays the sheet out on a canvas of the height that size asked for.
func (s *sheet) draw(c draw.Canvas) {
	s.hovers = s.hovers[:0]
	c.SetColor(paperInk.light)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	width := c.Max.X - c.Min.X + 2*margin
	c.Max.Y -= s.header(&c, width)
	cols := s.columns(width)
	rows := s.rows(cols)
	left, dataWidth, pitch := s.leftMargin(), s.dataWidth(width), s.height+s.head(width)+rowGap
	for i, p := range s.panels {
		row, col, bottom := s.place(i, cols)
		x := c.Min.X + left + vg.Length(col)*(dataWidth+gapX)
		y := c.Max.Y - vg.Length(row)*pitch - s.head(width)
		area := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: y - s.height}, Max: vg.Point{X: x + dataWidth, Y: y}}}
		s.drawPanel(area, p, col == 0, bottom)
	}
	s.axisLabels(c, left, vg.Length(rows)*pitch-rowGap+s.head(width))
}

// leftMargin is the room for the label and the tick labels of the y axis.
func (s *sheet) leftMargin() vg.Length {
	w := vg.Length(0)
	for _, t := range s.y.ticks.Ticks(s.y.lo, s.y.hi) {
		w = max(w, tickStyle.Width(t.Label))
	}
	if s.yLabel != "" {
		w += labelStyle.Height(s.yLabel) + 6
	}
	return w + 6
}

// drawPanel draws one pair of axes around its data area, and the marks on it.
func (s *sheet) drawPanel(area draw.Canvas, pn panel, first, bottom bool) {
	p := plot.New()
	p.BackgroundColor = nil
	s.x.apply(&p.X)
	s.y.apply(&p.Y)
	if !bottom {
		p.X.Tick.Marker = unlabelled(p.X.Tick.Marker)
	}
	if !first {
		p.Y.Tick.Marker = unlabelled(p.Y.Tick.Marker)
	}
	if s.y.grid {
		gridlines{ticks: s.y.ticks}.Plot(area, p)
	}
	if s.x.grid {
		gridlines{ticks: s.x.ticks, vertical: true}.Plot(area, p)
	}
	drawTitle(area, pn.title)
	// The plot draws its axes inside what it is given: give it their room too.
	outer := p.DataCanvas(area)
	p.Add(pn.marks...)
	p.Draw(draw.Crop(area, area.Min.X-outer.Min.X, area.Max.X-outer.Max.X, area.Min.Y-outer.Min.Y, area.Max.Y-outer.Max.Y))
}

// drawTitle writes a panel's title above it, the last line just over the frame.
func drawTitle(area draw.Canvas, title string) {
	sty := panelStyle
	sty.YAlign = draw.YBottom
	lines := wrap(title, sty.Width, area.Max.X-area.Min.X)
	for i, l := range lines {
		y := area.Max.Y + 5 + titleLine*vg.Length(len(lines)-1-i)
		area.FillText(sty, vg.Point{X: area.Min.X, Y: y}, fit(l, sty, area.Max.X-area.Min.X))
	}
}

// apply gives one of the plot's axes the theme, the range and the ticks.
func (a axis) apply(to *plot.Axis) {
	to.Min, to.Max = a.lo, a.hi
	to.Padding = 0
	to.LineStyle = draw.LineStyle{Color: mutedInk.light, Width: 0.6}
	to.Tick.LineStyle = to.LineStyle
	to.Tick.Length = 3
	xalign, yalign := to.Tick.Label.XAlign, to.Tick.Label.YAlign
	to.Tick.Label = tickStyle
	to.Tick.Label.XAlign, to.Tick.Label.YAlign = xalign, yalign
	to.Tick.Marker = a.ticks
	if a.log {
		to.Scale = plot.LogScale{}
	}
}

// axisLabels are written once, for all panels, in the middle of what they
// label: from left on, and over the upper height of c.
func (s *sheet) axisLabels(c draw.Canvas, left, height vg.Length) {
	sty := labelStyle
	sty.XAlign, sty.YAlign = draw.XCenter, draw.YBottom
	c.FillText(sty, vg.Point{X: (c.Min.X + left + c.Max.X) / 2, Y: c.Min.Y + 2}, s.xLabel)
	if s.yLabel == "" {
		return
	}
	sty.Rotation, sty.YAlign = math.Pi/2, draw.YTop
	c.FillText(sty, vg.Point{X: c.Min.X + 1, Y: c.Max.Y - height/2}, s.yLabel)
}

// header draws title, legend and colour scale at the top of c, and returns how
// much they take; with no canvas it only measures.
func (s *sheet) header(c *draw.Canvas, width vg.Length) vg.Length {
	room := width - 2*margin
	y := vg.Length(0)
	put := func(f func(top vg.Length)) {
		if c != nil {
			f(c.Max.Y - y)
		}
	}
	for _, l := range wrap(s.title, titleStyle.Width, room) {
		put(func(top vg.Length) {
			sty := titleStyle
			sty.YAlign = draw.YTop
			c.FillText(sty, vg.Point{X: c.Min.X, Y: top}, l)
		})
		y += 13
	}
	y += 2
	for _, row := range s.legendRows(room) {
		put(func(top vg.Length) { drawKeys(*c, row, top) })
		y += 13
	}
	if s.scale != nil {
		put(func(top vg.Length) {
			bar := *c
			bar.Max.Y = top - 3
			s.scale.draw(bar)
		})
		y += 26
	}
	return y
}

const (
	swatch = 15 // width of a key's sample
	keyGap = 14 // between keys

	// Text is centred by its box, which has room for descenders below; the eye
	// takes the middle of the small letters.
	opticalCentre = 1.3
)

// legendRows breaks the keys into rows that fit.
func (s *sheet) legendRows(room vg.Length) (rows [][]key) {
	used := vg.Length(0)
	for _, k := range s.legend {
		w := legendStyle.Width(k.text) + swatch + 4 + keyGap
		if len(rows) == 0 || used+w-keyGap > room {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
		used += w
	}
	return rows
}

func drawKeys(c draw.Canvas, row []key, top vg.Length) {
	x, y := c.Min.X, top-5
	for _, k := range row {
		if k.colour != (ink{}) {
			c.StrokeLine2(draw.LineStyle{Color: k.colour.light, Width: 1.6, Dashes: k.dashes}, x, y, x+swatch, y)
			if k.shape != nil {
				c.DrawGlyphNoClip(draw.GlyphStyle{Color: k.colour.light, Radius: 2.4, Shape: k.shape}, vg.Point{X: x + swatch/2, Y: y})
			}
			x += swatch + 4
		}
		sty := legendStyle
		sty.YAlign = draw.YCenter
		c.FillText(sty, vg.Point{X: x, Y: y + opticalCentre}, k.text)
		x += sty.Width(k.text) + keyGap
	}
}

// wrap breaks text at spaces into lines no wider than room.
func wrap(text string, width func(string) vg.Length, room vg.Length) (lines []string) {
	current := ""
	for word := range strings.SplitSeq(text, " ") { // not Fields: a no-break space holds
		longer := strings.TrimSpace(current + " " + word)
		if current != "" && width(longer) > room {
			lines = append(lines, current)
			longer = word
		}
		current = longer
	}
	return append(lines, current)
}
