package report

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"regexp"
	"slices"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// dpi of a bitmap: sharp in print at the width of a column.
const dpi = 200

// encode renders the figure for a file: "svg", "png" or "pdf".
func (f *figure) encode(format string) ([]byte, error) {
	h := f.sheet.size(wide)
	var canvas vg.CanvasWriterTo
	var to vg.Canvas
	switch format {
	case "svg":
		canvas = vgsvg.New(wide, h)
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(wide, h), vgimg.UseDPI(dpi))}
	case "pdf":
		pdf := vgpdf.New(wide, h)
		canvas, to = pdf, latin{pdf}
	default:
		return nil, fmt.Errorf("figures can be written as .png, .svg or .pdf, not as .%s", format)
	}
	if to == nil {
		to = canvas
	}
	f.sheet.draw(draw.NewCanvas(to, wide, h))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	if format == "svg" {
		return []byte(crisp(strings.ReplaceAll(b.String(), svgFamily, families))), nil
	}
	return b.Bytes(), nil
}

// crisp keeps the cells of heat maps from being smoothed at their edges, where
// the ground would show through. vgsvg has no word for it.
func crisp(svg string) string {
	return heatFill.ReplaceAllString(svg, `style="fill:$1;shape-rendering:crispEdges"`)
}

// heatFill finds what is filled with a colour of heat maps, and nothing else.
var heatFill = func() *regexp.Regexp {
	var colours []string
	for i := -2; i < shades; i++ {
		colours = append(colours, hexOf(shadeColour(i)))
	}
	return regexp.MustCompile(`style="fill:(#(?:` + strings.Join(colours, "|") + `))"`)
}()

// families replaces the one name that vgsvg writes: the widths of Arial and
// Helvetica are Liberation's.
const (
	svgFamily = "font-family:Liberation Sans;"
	families  = "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"
)

// latin writes text to a PDF in the encoding of its fonts, which is Windows
// 1252 and not UTF-8. What that lacks becomes a question mark.
type latin struct{ *vgpdf.Canvas }

// FillString implements vg.Canvas.
func (l latin) FillString(f font.Face, at vg.Point, text string) {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x80 || r >= 0xA0 && r <= 0xFF:
			b.WriteByte(byte(r))
		case r == '–':
			b.WriteByte(0x96)
		case r == '…':
			b.WriteByte(0x85)
		default:
			b.WriteByte('?')
		}
	}
	if f.Font.Weight != xfont.WeightNormal {
		// vgpdf embeds the files of all fonts under one name, so that a document can only have one of them.
		f.Font.Weight = xfont.WeightNormal
		f = font.DefaultCache.Lookup(f.Font, f.Font.Size)
	}
	l.Canvas.FillString(f, at, b.String())
}

// inline renders the figure as an SVG element for the page, at one of the two
// widths: colours are variables with a light and a dark value, fonts the
// page's, and marks tell their values to a pointer that rests on them.
func (f *figure) inline(width vg.Length, class string) (string, error) {
	h := f.sheet.size(width)
	canvas := vgsvg.New(width, h)
	f.sheet.draw(draw.NewCanvas(canvas, width, h))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", err
	}
	_, body, ok := strings.Cut(b.String(), ">\n<g ") // after the prologue and the opening tag
	if !ok {
		return "", fmt.Errorf("figure %s: the SVG writer's prologue has changed", f.name)
	}
	body = strings.ReplaceAll("<g "+body, svgFamily+"font-variant:normal;", "")
	body = strings.ReplaceAll(body, "font-weight:normal;font-style:normal;", "")
	body = crisp(body)
	body = hex.ReplaceAllStringFunc(body, variable)
	if width == wide { // what is narrow has no pointer
		body = strings.Replace(body, "</svg>", f.hovers(h)+"</svg>", 1)
	}
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"%s\" viewBox=\"0 0 %.5g %.5g\" role=\"img\" aria-label=\"%s\">%s",
		class, width.Points(), h.Points(), html.EscapeString(f.sheet.title), body), nil
}

// hovers are invisible discs with words, over the marks that have any.
func (f *figure) hovers(height vg.Length) string {
	var b strings.Builder
	for _, h := range f.sheet.hovers {
		fmt.Fprintf(&b, "<circle cx=\"%.4g\" cy=\"%.4g\" r=\"4\" fill-opacity=\"0\"><title>%s</title></circle>\n",
			h.at.X.Points(), (height - h.at.Y).Points(), html.EscapeString(h.text))
	}
	return b.String()
}

var hex = regexp.MustCompile(`#[0-9A-F]{6}`)

// variable is a colour as a CSS variable; where the page does not define it,
// it is itself.
func variable(colour string) string {
	return "var(--c" + colour[1:] + "," + colour + ")"
}

// darkColours is the CSS that redefines, on a dark page, the colours of figures.
func darkColours(figures []*figure) string {
	inks := append([]ink{paperInk, textInk, mutedInk, gridInk}, categories...)
	for _, f := range figures {
		for _, k := range f.sheet.legend {
			inks = append(inks, k.colour)
		}
	}
	var rules []string
	for _, i := range inks {
		for _, c := range []color.NRGBA{i.light, fade(i.light, bandAlpha)} {
			rules = append(rules, fmt.Sprintf("--c%s:#%s", hexOf(c), hexOf(i.dark)))
		}
	}
	slices.Sort(rules)
	return strings.Join(slices.Compact(rules), ";")
}

// hexOf is the colour as vgsvg writes it: without its opacity, and for a
// translucent one with the rounding of having been multiplied by it.
func hexOf(c color.NRGBA) string {
	r, g, b, a := c.RGBA()
	scale := 255.0 / float64(a)
	return fmt.Sprintf("%02X%02X%02X", int(float64(r)*scale), int(float64(g)*scale), int(float64(b)*scale))
}
