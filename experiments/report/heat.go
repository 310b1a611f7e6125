package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// shades is how many colours a heat map has. Cells of one shade are one path,
// which keeps the file small and its parts without seams.
const shades = 64

// A heat map colours cells by the logarithm of their values. gonum's own has a
// linear scale and a path for each cell.
type heat struct {
	x      []float64   // edges: one more than there are columns
	z      [][]float64 // z[column][row]; the rows of a column share y from 0 to 1
	lo, hi float64     // of the colours, positive
}

// Colours of what has no logarithm; neither is on the scale.
var (
	zeroInk   = rgb(0x9AA0A6)
	brokenInk = rgb(0x2F9BFF)
)

// shade returns the colour's number; -1 for zero and below, -2 for what is not finite.
func (h heat) shade(v float64) int {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return -2
	case v <= 0:
		return -1
	case h.lo >= h.hi:
		return shades / 2
	}
	t := math.Log(v/h.lo) / math.Log(h.hi/h.lo)
	return min(max(int(t*shades), 0), shades-1)
}

func shadeColour(i int) color.NRGBA {
	switch i {
	case -2:
		return brokenInk
	case -1:
		return zeroInk
	}
	return along(magma, 0.1+0.9*(float64(i)+0.5)/shades)
}

// Plot implements plot.Plotter.
func (h heat) Plot(c draw.Canvas, p *plot.Plot) {
	var paths [shades + 2]vg.Path
	for i, column := range h.z {
		y := func(j int) vg.Length { return c.Y(p.Y.Norm(float64(j) / float64(len(column)))) }
		for j := 0; j < len(column); {
			k, s := j+1, h.shade(column[j])
			for k < len(column) && h.shade(column[k]) == s {
				k++ // one rectangle for a stretch of one shade
			}
			addRectangle(&paths[s+2], c.X(p.X.Norm(h.x[i])), c.X(p.X.Norm(h.x[i+1])), y(j), y(k))
			j = k
		}
	}
	for s, path := range paths {
		if len(path) > 0 {
			c.SetColor(shadeColour(s - 2))
			c.Fill(path)
		}
	}
}

// addRectangle adds a cell, a little larger than it is: two that only touch
// show the ground between them when they are smoothed.
func addRectangle(path *vg.Path, x0, x1, y0, y1 vg.Length) {
	const over = 0.25
	path.Move(vg.Point{X: x0, Y: y0})
	path.Line(vg.Point{X: x1 + over, Y: y0})
	path.Line(vg.Point{X: x1 + over, Y: y1 + over})
	path.Line(vg.Point{X: x0, Y: y1 + over})
	path.Close()
}

// scale draws the colours with their values, as a bar that lies.
type scale struct {
	lo, hi float64
	label  string
}

// draw fills the rectangle's lower part with the bar's ticks and the upper with
// the bar; the label stands to its left.
func (s scale) draw(c draw.Canvas) {
	const height, gap = 7, 2.5
	sty := legendStyle
	sty.YAlign = draw.YCenter
	top := c.Max.Y
	c.FillText(sty, vg.Point{X: c.Min.X, Y: top - height/2 + opticalCentre}, s.label)
	left := c.Min.X + sty.Width(s.label) + 8
	width := min(c.Max.X-left, 170)
	at := func(t float64) vg.Length { return left + vg.Length(t)*width }
	for i := range shades {
		var path vg.Path
		addRectangle(&path, at(float64(i)/shades), at(float64(i+1)/shades), top-height, top)
		c.SetColor(shadeColour(i))
		c.Fill(path)
	}
	ticks := tickStyle
	ticks.XAlign, ticks.YAlign = draw.XCenter, draw.YTop
	for _, t := range logTicks(s.lo, s.hi) {
		x := at(math.Log(t.Value/s.lo) / math.Log(s.hi/s.lo))
		if t.IsMinor() || x < left-1 || x > left+width+1 {
			continue
		}
		c.StrokeLine2(draw.LineStyle{Color: mutedInk.light, Width: 0.6}, x, top-height, x, top-height-gap)
		c.FillText(ticks, vg.Point{X: x, Y: top - height - gap}, t.Label)
	}
}
