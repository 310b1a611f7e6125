package report

import (
	"image/color"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Widths of a figure. wide is the text of a paper of one column and what the
// files hold; narrow is a telephone, for the page alone.
const (
	wide   = 6.5 * vg.Inch
	narrow = 3.5 * vg.Inch
)

// An ink is a colour on light paper and its partner on a dark page. Series
// colours keep their hue, and gain the lightness that a dark ground asks for.
type ink struct{ light, dark color.NRGBA }

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 255}
}

var (
	paperInk = ink{rgb(0xFFFFFF), rgb(0x16181C)}
	textInk  = ink{rgb(0x202124), rgb(0xE8E6E3)} // text
	mutedInk = ink{rgb(0x5F6368), rgb(0xA6A9AE)} // ticks, notes
	gridInk  = ink{rgb(0xE3E4E6), rgb(0x33363B)} // grid
)

// categories are Okabe and Ito's colours (2008), which stay apart under every
// common form of colour blindness, less yellow and black, which vanish on one
// ground or the other.
var categories = []ink{
	{rgb(0xD55E00), rgb(0xF2894A)}, {rgb(0x0072B2), rgb(0x58B0EA)}, {rgb(0x009E73), rgb(0x2CC798)},
	{rgb(0xCC79A7), rgb(0xE39BC3)}, {rgb(0xE69F00), rgb(0xF5BC3D)}, {rgb(0x56B4E8), rgb(0xA6DDFB)},
}

// category is the colour of the i-th thing without an order.
func category(i int) ink { return categories[i%len(categories)] }

// stroke is the dashes of the i-th thing without an order: whole lines while the
// colours last, then broken ones.
func stroke(i int) []vg.Length {
	return [][]vg.Length{nil, {7, 2}, {7, 2, 1.5, 2}}[i/len(categories)%3]
}

// dotted are the dashes of a run that diverged.
var dotted = []vg.Length{1, 1.8}

// viridis and magma (Smith and van der Walt 2015), at nine equal distances:
// even in lightness, so that they survive grey printing.
var (
	viridis = []color.NRGBA{rgb(0x440154), rgb(0x472D7B), rgb(0x3B528B), rgb(0x2C728E), rgb(0x21918C), rgb(0x28AE80), rgb(0x5EC962), rgb(0xADDC30), rgb(0xFDE725)}
	magma   = []color.NRGBA{rgb(0x000004), rgb(0x1D1147), rgb(0x51127C), rgb(0x832681), rgb(0xB73779), rgb(0xE75263), rgb(0xFC8961), rgb(0xFEC488), rgb(0xFCFDBF)}
)

// along returns the colour at t in [0,1] of a map.
func along(m []color.NRGBA, t float64) color.NRGBA {
	t = math.Min(math.Max(t, 0), 1) * float64(len(m)-1)
	i := min(int(t), len(m)-2)
	f := t - float64(i)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + f*(float64(b)-float64(a)))) }
	a, b := m[i], m[i+1]
	return color.NRGBA{R: mix(a.R, b.R), G: mix(a.G, b.G), B: mix(a.B, b.B), A: 255}
}

// ordered is the colour of the i-th of n things that have an order: viridis
// without the end that the ground would swallow, yellow on light, violet on dark.
func ordered(i, n int) ink {
	t := 0.5
	if n > 1 {
		t = float64(i) / float64(n-1)
	}
	return ink{along(viridis, 0.04+0.78*t), along(viridis, 0.45+0.53*t)}
}

// bandAlpha is the opacity of bands: two of them still show through each other.
const bandAlpha = 0.2

// fade makes a colour translucent, for bands.
func fade(c color.NRGBA, alpha float64) color.NRGBA {
	c.A = uint8(math.Round(255 * alpha))
	return c
}

// shapes tell apart, beside colour, what has no order.
var shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}}

func shape(i int) draw.GlyphDrawer { return shapes[i%len(shapes)] }

// style is sans-serif text, whose metrics Arial and Helvetica share where
// Liberation is not at hand.
func style(size vg.Length, c ink, bold bool) text.Style {
	weight := xfont.WeightNormal
	if bold {
		weight = xfont.WeightBold
	}
	return text.Style{
		Color:   c.light,
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: size},
		Handler: scripts,
	}
}

var (
	titleStyle  = style(9.5, textInk, true)
	legendStyle = style(8, textInk, false)
	panelStyle  = style(8, textInk, false)
	labelStyle  = style(8, textInk, false)
	tickStyle   = style(7.5, mutedInk, false)
)
