package results

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"ablate/experiments/stats"
	"ablate/train/metrics"
)

// text writes aligned columns for a terminal.
func (t *Table) text(w io.Writer) error {
	lines := append([][]string{t.titles()}, t.Strings()...)
	width := make([]int, len(t.Columns))
	for _, line := range lines {
		for j, s := range line {
			width[j] = max(width[j], utf8.RuneCountInString(s))
		}
	}
	b := bufio.NewWriter(w)
	for _, line := range lines {
		var s strings.Builder
		for j, cell := range line {
			pad := strings.Repeat(" ", width[j]-utf8.RuneCountInString(cell))
			if t.Columns[j].Text {
				s.WriteString(cell + pad)
			} else {
				s.WriteString(pad + cell)
			}
			s.WriteString("  ")
		}
		fmt.Fprintln(b, strings.TrimRight(s.String(), " "))
	}
	return b.Flush()
}

func (t *Table) titles() []string {
	out := make([]string, len(t.Columns))
	for j, c := range t.Columns {
		out[j] = Printable(c.Title)
	}
	return out
}

// mdEscape keeps a cell from being read as Markdown or as the HTML inside it.
var mdEscape = strings.NewReplacer(`\`, `\\`, `|`, `\|`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`,
	`<`, `&lt;`, `>`, `&gt;`, `&`, `&amp;`, `~`, `\~`)

// markdown writes a table of GitHub's dialect.
func (t *Table) markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	line := func(cells []string, f func(string) string) {
		for _, c := range cells {
			fmt.Fprintf(b, "| %s ", f(c))
		}
		fmt.Fprintln(b, "|")
	}
	line(t.titles(), mdEscape.Replace)
	for _, c := range t.Columns {
		if c.Text {
			fmt.Fprint(b, "|---")
		} else {
			fmt.Fprint(b, "|--:")
		}
	}
	fmt.Fprintln(b, "|")
	for _, row := range t.Strings() {
		line(row, mdEscape.Replace)
	}
	return b.Flush()
}

// texEscape writes every character that LaTeX acts upon so that it is printed.
var texEscape = strings.NewReplacer(`\`, `\textbackslash{}`, `{`, `\{`, `}`, `\}`, `$`, `\$`, `&`, `\&`, `#`, `\#`, `_`, `\_`, `%`, `\%`,
	`~`, `\textasciitilde{}`, `^`, `\textasciicircum{}`, `<`, `\textless{}`, `>`, `\textgreater{}`, `|`, `\textbar{}`,
	`±`, `$\pm$`, `·`, `$\cdot$`, `–`, `--`)

// latex writes a tabular with the rules of the package booktabs.
func (t *Table) latex(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, `\begin{tabular}{`)
	for _, c := range t.Columns {
		if c.Text {
			fmt.Fprint(b, "l")
		} else {
			fmt.Fprint(b, "r")
		}
	}
	fmt.Fprintln(b, "}\n\\toprule")
	line := func(cells []string) {
		for j, c := range cells {
			if j > 0 {
				fmt.Fprint(b, " & ")
			}
			fmt.Fprint(b, texEscape.Replace(c))
		}
		fmt.Fprintln(b, ` \\`)
	}
	line(t.titles())
	fmt.Fprintln(b, `\midrule`)
	for _, row := range t.Strings() {
		line(row)
	}
	fmt.Fprintln(b, "\\bottomrule\n\\end{tabular}")
	return b.Flush()
}

// csv writes full precision; an estimate takes six columns, KEY, KEY_n, KEY_sd,
// KEY_lo, KEY_hi and KEY_median. What is unknown is an empty field.
func (t *Table) csv(w io.Writer) error {
	c := csv.NewWriter(w)
	estimates := t.estimates()
	var head []string
	for j, col := range t.Columns {
		head = append(head, csvText(col.Key))
		if estimates[j] {
			for _, suffix := range []string{"_n", "_sd", "_lo", "_hi", "_median"} {
				head = append(head, csvText(col.Key+suffix))
			}
		}
	}
	c.Write(head)
	for _, row := range t.Rows {
		var line []string
		for _, cell := range row {
			line = append(line, csvFields(cell)...)
		}
		c.Write(line)
	}
	c.Flush()
	return c.Error()
}

// estimates says which columns hold estimates.
func (t *Table) estimates() []bool {
	out := make([]bool, len(t.Columns))
	for _, row := range t.Rows {
		for j, cell := range row {
			_, out[j] = cell.(stats.Estimate)
		}
	}
	return out
}

func csvFields(cell any) []string {
	number := func(x float64) string {
		if math.IsNaN(x) {
			return ""
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	switch x := cell.(type) {
	case int64:
		return []string{strconv.FormatInt(x, 10)}
	case metrics.Value:
		if _, known := x.Get(); !known {
			return []string{""}
		}
		return []string{strconv.FormatFloat(x.Float(), 'g', -1, 64)}
	case stats.Estimate:
		return []string{number(x.Mean), strconv.Itoa(x.N), number(x.SD), number(x.Lo), number(x.Hi), number(x.Median)}
	}
	return []string{csvText(fmt.Sprint(cell))}
}

// csvText disarms what a spreadsheet would run as a formula, by an apostrophe
// in front; numbers, and the words for those that are none, are left alone.
func csvText(s string) string {
	s = Printable(s)
	if s == "" || !strings.ContainsRune("=+-@", rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}

// json writes a list with one object for each row, keys in column order.
func (t *Table) json(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, "[")
	for i, row := range t.Rows {
		if i > 0 {
			fmt.Fprint(b, ",")
		}
		fmt.Fprint(b, "\n  {")
		for j, cell := range row {
			key, err := json.Marshal(t.Columns[j].Key)
			if err != nil {
				return err
			}
			value, err := json.Marshal(cell)
			if err != nil {
				return err
			}
			if j > 0 {
				fmt.Fprint(b, ", ")
			}
			fmt.Fprintf(b, "%s: %s", key, value)
		}
		fmt.Fprint(b, "}")
	}
	fmt.Fprintln(b, "\n]")
	return b.Flush()
}
