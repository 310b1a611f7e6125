package report

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"ablate/experiments/results"
)

// Write draws the report of a run directory into it: report.html, figures/ with
// an SVG, a PNG and a CSV of each figure, tables/results.csv and .tex. It reads
// nothing but the directory, and the same files give the same bytes.
func Write(dir string) error {
	e, err := results.Load(dir)
	if err != nil {
		return err
	}
	s := newSource(e)
	figures, absent, err := s.figures()
	if err != nil {
		return err
	}
	table, err := e.Table()
	if err != nil {
		return err
	}
	table = table.Eventful()
	p, err := newPage(s, table, figures, absent)
	if err != nil {
		return err
	}
	for _, f := range figures {
		if err := f.write(dir); err != nil {
			return err
		}
	}
	for _, t := range []struct{ file, format string }{{"results.csv", "csv"}, {"results.tex", "latex"}} {
		var b bytes.Buffer
		if err := table.Write(&b, t.format); err != nil {
			return err
		}
		if err := results.WriteFile(dir, results.TablesDir+"/"+t.file, b.Bytes()); err != nil {
			return err
		}
	}
	html, err := p.render()
	if err != nil {
		return err
	}
	return results.WriteFile(dir, results.ReportFile, html)
}

// figures builds what the experiment asks for, or all there are, and says
// which of those it asked for cannot be drawn.
func (s *source) figures() (list []*figure, absent []string, err error) {
	names := s.Show
	if len(names) == 0 {
		names = Figures()
	}
	for _, name := range names {
		k, err := find(name)
		if err != nil {
			absent = append(absent, err.Error())
			continue
		}
		f, err := k.build(s)
		switch {
		case err != nil:
			return nil, nil, err
		case f != nil:
			list = append(list, f)
		case len(s.Show) > 0:
			absent = append(absent, k.name+", for which there are no numbers yet")
		}
	}
	return list, absent, nil
}

// write puts the figure's three files into the directory of the experiment.
func (f *figure) write(dir string) error {
	numbers, err := f.csv()
	if err != nil {
		return err
	}
	path := results.FiguresDir + "/" + f.name
	if err := results.WriteFile(dir, path+".csv", numbers); err != nil {
		return err
	}
	for _, format := range []string{"svg", "png"} {
		picture, err := f.encode(format)
		if err != nil {
			return err
		}
		if err := results.WriteFile(dir, path+"."+format, picture); err != nil {
			return err
		}
	}
	return nil
}

// Plot draws one figure of a run directory into a file whose ending says the
// format, .png, .svg or .pdf, and its numbers into a CSV file beside it.
// Besides the names of Figures it knows short ones, "grads" and "loss".
func Plot(name, dir, file string) error {
	k, err := find(name)
	if err != nil {
		return err
	}
	e, err := results.Load(dir)
	if err != nil {
		return err
	}
	f, err := k.build(newSource(e))
	if err != nil {
		return err
	}
	if f == nil {
		return fmt.Errorf("%s holds nothing yet that %s could show", dir, k.name)
	}
	return f.save(file)
}

// save writes the figure into a file whose ending says the format, and its
// numbers into a CSV file beside it.
func (f *figure) save(file string) error {
	ext := filepath.Ext(file)
	picture, err := f.encode(strings.ToLower(strings.TrimPrefix(ext, ".")))
	if err != nil {
		return err
	}
	numbers, err := f.csv()
	if err != nil {
		return err
	}
	folder, base := filepath.Dir(file), filepath.Base(file)
	if err := results.WriteFile(folder, base, picture); err != nil {
		return err
	}
	return results.WriteFile(folder, strings.TrimSuffix(base, ext)+".csv", numbers)
}
