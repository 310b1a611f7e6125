package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"path/filepath"
	"strings"

	"ablate/experiments/results"
	"ablate/train/metrics"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("report").Parse(pageText))

// page is what the template is given. All text in it is escaped by
// html/template; figures and style are our own bytes.
type page struct {
	Name, Question, Paper, Expect string
	Profile                       string
	Style                         template.CSS
	Runs, Arms                    int
	Answer                        answer
	Lead                          *drawn
	Rest                          []drawn
	Absent                        []string // figures asked for that do not exist
	Results                       grid
	Attested                      grid
	Same                          []attested
	Each                          grid
	Definitions                   []definition
	Redraw                        string
}

// drawn is a figure on the page, in its two layouts.
type drawn struct {
	Name, Title, Caption string
	Wide, Narrow         template.HTML
	Command              string
}

// grid is a table on the page; Text marks columns of words.
type grid struct {
	Head []string
	Text []bool
	Rows [][]string
}

func newGrid(t *results.Table) grid {
	g := grid{Rows: t.Strings()}
	for _, c := range t.Columns {
		g.Head, g.Text = append(g.Head, c.Title), append(g.Text, c.Text)
	}
	return g
}

// newPage gathers the page of an experiment with its figures.
func newPage(s *source, table *results.Table, figures []*figure, absent []string) (*page, error) {
	where := commandDir(s.Dir)
	p := &page{
		Name: s.Name, Question: s.Question, Paper: s.Paper, Expect: s.Expect, Profile: s.Profile, Arms: len(s.Arms), Absent: absent,
		Answer: s.answer(), Results: newGrid(table), Each: newGrid(runTable(s)), Definitions: defined(s.Experiment),
		Redraw: "ablate report " + where,
	}
	for _, a := range s.Arms {
		p.Runs += len(a.Runs)
	}
	arms, differ, same := attest(s.Experiment)
	p.Same = same
	if len(differ) > 0 {
		p.Attested = attestedGrid(arms, differ)
	}
	for _, f := range figures {
		d, err := drawBoth(f, where)
		if err != nil {
			return nil, err
		}
		if p.Lead == nil {
			p.Lead = &d
		} else {
			p.Rest = append(p.Rest, d)
		}
	}
	p.Style = template.CSS(strings.Replace(pageStyle, "/*dark*/", darkColours(figures), 1))
	return p, nil
}

// attestedGrid has a column for each arm, or, where that would be too wide, a
// row for each.
func attestedGrid(arms []string, entries []attested) grid {
	const widest = 8
	g := grid{Head: append([]string{""}, arms...), Text: make([]bool, len(arms)+1)}
	for _, e := range entries {
		g.Rows = append(g.Rows, append([]string{strings.TrimPrefix(e.Key, "model.")}, e.Values...))
	}
	if len(arms) > widest {
		all := append([][]string{g.Head}, g.Rows...)
		g = grid{Text: make([]bool, len(all))}
		for j := range all[0] {
			var row []string
			for i := range all {
				row = append(row, all[i][j])
			}
			g.Rows = append(g.Rows, row)
		}
		g.Head, g.Rows = g.Rows[0], g.Rows[1:]
	}
	g.Text[0] = true
	return g
}

// drawBoth renders a figure for paper and for a telephone.
func drawBoth(f *figure, dir string) (drawn, error) {
	w, err := f.inline(wide, "wide")
	if err != nil {
		return drawn{}, err
	}
	n, err := f.inline(narrow, "narrow")
	return drawn{Name: f.name, Title: f.sheet.title, Caption: f.caption, Wide: template.HTML(w), Narrow: template.HTML(n),
		Command: fmt.Sprintf("ablate plot %s %s --file %s.pdf", f.name, dir, f.name)}, err
}

// commandDir is the directory as one would type it: relative as it was given,
// and of an absolute path only the end, which says enough and tells nothing
// about the machine.
func commandDir(dir string) string {
	if filepath.IsAbs(dir) {
		dir = filepath.Base(dir)
	}
	dir = results.Printable(filepath.ToSlash(filepath.Clean(dir)))
	if strings.ContainsAny(dir, " '\"\\$`&|;<>()*?!#~") {
		return "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return dir
}

// runTable lists every run by itself.
func runTable(s *source) *results.Table {
	t := &results.Table{}
	text := func(titles ...string) {
		for _, title := range titles {
			t.Columns = append(t.Columns, results.Column{Key: title, Title: title, Text: true})
		}
	}
	text("arm", "run")
	for _, title := range []string{"seed", "steps", "train loss", "val loss", "val ppl", "grad norm", "tokens/s"} {
		t.Columns = append(t.Columns, results.Column{Key: title, Title: title})
	}
	text("status")
	for _, a := range s.Arms {
		name := a.Name()
		if name == "" {
			name = s.Name
		}
		for _, r := range a.Runs {
			var sum metrics.Summary
			if r.Summary != nil {
				sum = *r.Summary
			}
			t.Rows = append(t.Rows, []any{name, r.ID, r.Seed, sum.Steps, sum.TrainLoss, sum.ValLoss, sum.ValPPL, sum.GradNorm, sum.TokensPerS, string(r.Status)})
		}
	}
	return t
}

// render is the page as HTML.
func (p *page) render() ([]byte, error) {
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, p)
	return b.Bytes(), err
}
