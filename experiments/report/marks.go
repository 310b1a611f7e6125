package report

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Marks are what panels are drawn with. They implement plot.Plotter, place
// nothing outside of the panel, and let no number vanish: what is not finite,
// or not positive on a logarithmic axis, is marked on the edge where it belongs.

// hover is a place on the figure with words to show there.
type hover struct {
	at   vg.Point
	text string
}

// A line joins points in order; it breaks at values that have no place on the
// axis and marks them: a cross on the upper edge for NaN and ±Inf, a triangle
// on the lower one for zero and below on a logarithmic axis.
type line struct {
	x, y   []float64
	colour color.NRGBA
	width  vg.Length
	dashes []vg.Length
	dots   draw.GlyphDrawer // nil: none
	words  func(i int) string
	hovers *[]hover
}

// Plot implements plot.Plotter.
func (l line) Plot(c draw.Canvas, p *plot.Plot) {
	sty := draw.LineStyle{Color: l.colour, Width: l.width, Dashes: l.dashes}
	var run []vg.Point
	flush := func() {
		if len(run) > 1 {
			c.StrokeLines(sty, c.ClipLinesXY(run)...)
		}
		if len(run) == 1 && l.dots == nil {
			c.DrawGlyph(draw.GlyphStyle{Color: l.colour, Radius: l.width, Shape: draw.CircleGlyph{}}, run[0])
		}
		run = nil
	}
	for i, y := range l.y {
		x := c.X(p.X.Norm(l.x[i]))
		at, ok := l.place(c, p, x, y)
		if l.hovers != nil && l.words != nil {
			*l.hovers = append(*l.hovers, hover{at, l.words(i)})
		}
		if !ok {
			flush()
			continue
		}
		run = append(run, at)
		if l.dots != nil {
			c.DrawGlyph(draw.GlyphStyle{Color: l.colour, Radius: 2.2, Shape: l.dots}, at)
		}
	}
	flush()
}

// place returns where a value is, or marks it on an edge.
func (l line) place(c draw.Canvas, p *plot.Plot, x vg.Length, y float64) (vg.Point, bool) {
	_, log := p.Y.Scale.(plot.LogScale)
	switch {
	case !drawable(y):
		at := vg.Point{X: x, Y: c.Max.Y - 3}
		cross(c, at, l.colour)
		return at, false
	case log && y <= 0:
		at := vg.Point{X: x, Y: c.Min.Y}
		triangle(c, at, l.colour)
		return at, false
	}
	return vg.Point{X: x, Y: c.Y(p.Y.Norm(y))}, true
}

// cross marks what is not a finite number.
func cross(c draw.Canvas, at vg.Point, colour color.NRGBA) {
	const r = 2.4
	sty := draw.LineStyle{Color: colour, Width: 1.1}
	c.StrokeLines(sty,
		[]vg.Point{{X: at.X - r, Y: at.Y - r}, {X: at.X + r, Y: at.Y + r}},
		[]vg.Point{{X: at.X - r, Y: at.Y + r}, {X: at.X + r, Y: at.Y - r}})
}

// triangle, pointing down, marks what lies below every logarithmic axis.
func triangle(c draw.Canvas, at vg.Point, colour color.NRGBA) {
	c.FillPolygon(colour, []vg.Point{{X: at.X - 2.6, Y: at.Y + 4.2}, {X: at.X + 2.6, Y: at.Y + 4.2}, {X: at.X, Y: at.Y}})
}

// An edgeMark is a triangle at the upper edge, pointing down at what happened there.
type edgeMark struct {
	x      float64
	colour color.NRGBA
	words  string
	hovers *[]hover
}

// Plot implements plot.Plotter.
func (m edgeMark) Plot(c draw.Canvas, p *plot.Plot) {
	at := vg.Point{X: c.X(p.X.Norm(m.x)), Y: c.Max.Y - 4.2}
	triangle(c, at, m.colour)
	*m.hovers = append(*m.hovers, hover{at, m.words})
}

// A band fills between two curves; points where either has no place are left out.
type band struct {
	x, lo, hi []float64
	colour    color.NRGBA
}

// Plot implements plot.Plotter.
func (b band) Plot(c draw.Canvas, p *plot.Plot) {
	_, log := p.Y.Scale.(plot.LogScale)
	bad := func(v float64) bool { return !drawable(v) || log && v <= 0 }
	for start := 0; start < len(b.x); {
		end := start
		for end < len(b.x) && !bad(b.lo[end]) && !bad(b.hi[end]) {
			end++
		}
		if end-start > 1 {
			var ring []vg.Point
			for i := start; i < end; i++ {
				ring = append(ring, vg.Point{X: c.X(p.X.Norm(b.x[i])), Y: c.Y(p.Y.Norm(b.hi[i]))})
			}
			for i := end - 1; i >= start; i-- {
				ring = append(ring, vg.Point{X: c.X(p.X.Norm(b.x[i])), Y: c.Y(p.Y.Norm(b.lo[i]))})
			}
			c.FillPolygon(b.colour, c.ClipPolygonXY(ring))
		}
		start = end + 1
	}
}

// A whisker is an interval, upright or lying. An end that lies outside of the
// panel is cut there and has no cap.
type whisker struct {
	at, lo, hi float64
	lying      bool
	shift      vg.Length // sideways, so that neighbours do not cover each other
	colour     color.NRGBA
}

// Plot implements plot.Plotter.
func (w whisker) Plot(c draw.Canvas, p *plot.Plot) {
	sty := draw.LineStyle{Color: w.colour, Width: 1}
	axis, norm := p.Y, c.Y
	low, high := c.Min.Y, c.Max.Y
	if w.lying {
		axis, norm, low, high = p.X, c.X, c.Min.X, c.Max.X
	}
	place := func(v float64) vg.Length {
		if _, log := axis.Scale.(plot.LogScale); log && v <= 0 {
			return low - 1
		}
		return norm(axis.Norm(v))
	}
	a, b := place(w.lo), place(w.hi)
	point := func(along, across vg.Length) vg.Point {
		if w.lying {
			return vg.Point{X: along, Y: c.Y(p.Y.Norm(w.at)) + w.shift + across}
		}
		return vg.Point{X: c.X(p.X.Norm(w.at)) + w.shift + across, Y: along}
	}
	c.StrokeLines(sty, []vg.Point{point(max(a, low), 0), point(min(b, high), 0)})
	for _, end := range []vg.Length{a, b} {
		if end >= low && end <= high {
			c.StrokeLines(sty, []vg.Point{point(end, -2), point(end, 2)})
		}
	}
}

// A dot is one point; hollow ones are single seeds.
type dot struct {
	x, y   float64
	shift  vg.Point
	shape  draw.GlyphDrawer
	radius vg.Length
	colour color.NRGBA
	words  string
	hovers *[]hover
}

// Plot implements plot.Plotter.
func (d dot) Plot(c draw.Canvas, p *plot.Plot) {
	at := vg.Point{X: c.X(p.X.Norm(d.x)) + d.shift.X, Y: c.Y(p.Y.Norm(d.y)) + d.shift.Y}
	c.DrawGlyph(draw.GlyphStyle{Color: d.colour, Radius: d.radius, Shape: d.shape}, at)
	if d.hovers != nil && d.words != "" {
		*d.hovers = append(*d.hovers, hover{at, d.words})
	}
}

// A note is text on the upper edge of a panel at x, with a cross: what ended
// without a finite number and so has no place on the axis.
type note struct {
	x      float64
	shift  vg.Length
	row    int // below so many others
	text   string
	colour color.NRGBA
}

// Plot implements plot.Plotter.
func (n note) Plot(c draw.Canvas, p *plot.Plot) {
	at := vg.Point{X: c.X(p.X.Norm(n.x)) + n.shift, Y: c.Max.Y - 3 - 9*vg.Length(n.row)}
	cross(c, at, n.colour)
	sty := tickStyle
	sty.Color, sty.XAlign, sty.YAlign = n.colour, draw.XRight, draw.YCenter
	if p.X.Norm(n.x) < 0.3 {
		sty.XAlign = draw.XLeft
	}
	at.X += vg.Length(sty.XAlign+0.5) * 10
	at.Y += opticalCentre
	c.FillText(sty, at, n.text)
}

// gridlines are drawn at labelled ticks only.
type gridlines struct {
	ticks    plot.Ticker
	vertical bool
}

// Plot implements plot.Plotter.
func (g gridlines) Plot(c draw.Canvas, p *plot.Plot) {
	sty := draw.LineStyle{Color: gridInk.light, Width: 0.6}
	axis := p.Y
	if g.vertical {
		axis = p.X
	}
	for _, t := range g.ticks.Ticks(axis.Min, axis.Max) {
		at := axis.Norm(t.Value)
		switch {
		case t.IsMinor() || at < 0 || at > 1:
		case g.vertical:
			c.StrokeLine2(sty, c.X(at), c.Min.Y, c.X(at), c.Max.Y)
		default:
			c.StrokeLine2(sty, c.Min.X, c.Y(at), c.Max.X, c.Y(at))
		}
	}
}
