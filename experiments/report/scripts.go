package report

import (
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// scripts is plain text with superscripts. The fonts at hand lack most of
// Unicode's raised digits, so a raised part is set smaller and higher; it stands
// between two private marks, which labels from files can not contain
// (results.Printable replaces them).
var scripts text.Handler = scriptHandler{text.Plain{Fonts: font.DefaultCache}}

const (
	up   = "\ue000"
	down = "\ue001"

	scriptSize = 0.72 // of the font
	scriptRise = 0.38
)

// raised writes base with an exponent. The sign is a dash of the width of a
// minus, which unlike the minus itself is in every encoding that PDF offers.
func raised(base, exponent string) string {
	return base + up + strings.ReplaceAll(exponent, "-", "–") + down
}

type scriptHandler struct{ text.Plain }

// piece is a part of a line, raised or not.
type piece struct {
	text   string
	raised bool
}

func pieces(line string) (out []piece) {
	for line != "" {
		before, after, found := strings.Cut(line, up)
		if before != "" {
			out = append(out, piece{before, false})
		}
		if !found {
			break
		}
		script, rest, _ := strings.Cut(after, down)
		out = append(out, piece{script, true})
		line = rest
	}
	return out
}

func (p piece) font(f font.Font) font.Font {
	if p.raised {
		f.Size *= scriptSize
	}
	return f
}

// Box implements text.Handler.
func (h scriptHandler) Box(line string, f font.Font) (width, height, depth vg.Length) {
	_, height, depth = h.Plain.Box("", f)
	for _, p := range pieces(line) {
		w, _, _ := h.Plain.Box(p.text, p.font(f))
		width += w
	}
	return width, height, depth
}

// Draw implements text.Handler, for lines that do not turn when they have
// superscripts.
func (h scriptHandler) Draw(c vg.Canvas, line string, sty text.Style, pt vg.Point) {
	if !strings.Contains(line, up) {
		h.Plain.Draw(c, line, sty, pt)
		return
	}
	width, _, _ := h.Box(line, sty.Font)
	pt.X += vg.Length(sty.XAlign) * width
	sty.XAlign = text.XLeft
	rise := sty.Font.Size * scriptRise
	for _, p := range pieces(line) {
		part, at := sty, pt
		part.Font = p.font(sty.Font)
		if p.raised {
			at.Y += rise
		}
		h.Plain.Draw(c, p.text, part, at)
		w, _, _ := h.Plain.Box(p.text, part.Font)
		pt.X += w
	}
}

// fit shortens text to a width: an ellipsis takes the place of its middle, since
// names that are alike mostly differ at their ends.
func fit(s string, sty text.Style, width vg.Length) string {
	r := []rune(s)
	for n := len(r); n > 0 && sty.Width(s) > width; n-- {
		s = string(r[:n/2]) + "…" + string(r[len(r)-(n-1)/2:])
	}
	return s
}
