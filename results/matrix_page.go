package results

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html/template"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
)

// The files that a matrix is written to.
const (
	MatrixPage     = "matrix.html"
	MatrixMarkdown = "matrix.md"
	MatrixJSON     = "matrix.json"
)

//go:embed assets/matrix.html.tmpl
var matrixHTML string

//go:embed assets/matrix.css
var matrixCSS string

//go:embed assets/matrix.js
var matrixJS string

var matrixTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("matrix").Parse(matrixHTML)) })

// WriteMatrix writes matrix.html, matrix.svg, matrix.md, matrix.json and junit.xml into
// a folder.
func WriteMatrix(folder string, m *Matrix) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("write the matrix: %w", err)
	}
	d := &Dir{path: folder}
	if err := d.writeJSON(MatrixJSON, m); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer, *Matrix) error{
		MatrixPage: MatrixHTML, MatrixPicture: MatrixSVG, MatrixMarkdown: MatrixMD, JUnitFile: MatrixJUnit,
	} {
		var b bytes.Buffer
		if err := write(&b, m); err != nil {
			return fmt.Errorf("write %s: %w", d.File(name), err)
		}
		if err := d.write(name, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// ReadMatrix reads matrix.json back.
func ReadMatrix(path string) (*Matrix, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the matrix: %w", err)
	}
	var m Matrix
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("read the matrix: %s: %w", path, err)
	}
	return &m, nil
}

// The rows of the page and of the Markdown: one a scenario and lock, with a column
// for each discipline.

type matrixPage struct {
	CSP      string
	CSS      template.CSS
	Sizes    template.CSS // how many squares there are, for the stylesheet
	JS       template.JS
	Glyphs   template.HTML
	Grid     *grid // nil where nothing was run
	Title    string
	Class    string
	When     string
	Versions []pair
	Counts   []matrixCount
	Columns  []string
	Width    int // of the table
	Groups   []matrixGroup
	Paces    []paceRow
	Clients  int // that contended when the paces were measured
}

type matrixCount struct {
	N     int
	State State
	Class string
}

type matrixGroup struct {
	Name, About, Source string
	Rows                []matrixRow
}

type matrixRow struct {
	Lock, Service string
	Cells         []matrixCell
}

type matrixCell struct {
	Ran                bool
	State              State
	Class, Link, Found string
	Note, Why, Bound   string
}

func stateClass(s State) string {
	return map[State]string{Holds: "holds", Expected: "expected", Violated: "broken", Unexpected: "broken", Inconclusive: "unknown", LeftOut: "left"}[s]
}

// columns are the disciplines that occur, the weakest first.
func (m *Matrix) columns() []string {
	var out []string
	for _, name := range []string{"none", "write", "write-strict", "read-write", "sequencer"} {
		if slices.ContainsFunc(m.Cells, func(c Cell) bool { return c.Fencing == name }) {
			out = append(out, name)
		}
	}
	for _, c := range m.Cells {
		if !slices.Contains(out, c.Fencing) {
			out = append(out, c.Fencing)
		}
	}
	return out
}

func (m *Matrix) groups() []matrixGroup {
	var out []matrixGroup
	columns := m.columns()
	for _, c := range m.Cells {
		i := slices.IndexFunc(out, func(g matrixGroup) bool { return g.Name == c.Scenario })
		if i < 0 {
			g := matrixGroup{Name: c.Scenario}
			for _, s := range m.Scenarios {
				if s.Name == c.Scenario {
					g.About, g.Source = clip(s.About, 1000), s.Source
				}
			}
			out, i = append(out, g), len(out)
		}
		g := &out[i]
		j := slices.IndexFunc(g.Rows, func(r matrixRow) bool { return r.Lock == c.Lock })
		if j < 0 {
			g.Rows, j = append(g.Rows, matrixRow{c.Lock, clip(c.Service, 40), make([]matrixCell, len(columns))}), len(g.Rows)
		}
		g.Rows[j].Cells[slices.Index(columns, c.Fencing)] = viewCell(c)
	}
	for i := range out {
		out[i].Name = clip(out[i].Name, 100)
		for j := range out[i].Rows {
			out[i].Rows[j].Lock = clip(out[i].Rows[j].Lock, 100)
		}
	}
	return out
}

func viewCell(c Cell) matrixCell {
	v := matrixCell{Ran: true, State: c.State(), Found: strings.Join(c.Broken, ", "), Why: clip(firstNonEmpty(c.LeftOut, c.Why), 600), Bound: c.Bound()}
	v.Class = stateClass(v.State)
	v.Link = c.reportLink()
	var notes []string
	if c.Runs > 1 {
		notes = append(notes, fmt.Sprintf("%d runs", c.Runs))
		if c.Clean > 0 && c.Clean < c.Runs {
			notes = append(notes, fmt.Sprintf("%d of them without a violation", c.Clean))
		}
		if c.Unproved > 0 && c.Unproved < c.Runs {
			notes = append(notes, fmt.Sprintf("%d of them proved too little", c.Unproved))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Counts)) {
		notes = append(notes, fmt.Sprintf("%d %s", c.Counts[name], clip(name, 40)))
	}
	if c.Emulator != "" {
		notes = append(notes, "on "+clip(c.Emulator, 60)+", an emulator")
	}
	if v.State == Unexpected || v.State == Inconclusive {
		notes = append(notes, "expected "+clip(c.Expected, 200))
	}
	if title := c.Class.Title(); title != "" {
		notes = append([]string{title}, notes...)
	}
	v.Note = strings.Join(notes, "; ")
	return v
}

// headlineOf sums the matrix up in one sentence.
func (m *Matrix) headlineOf() string {
	n := m.Count()
	bad := n[Unexpected] + n[Violated]
	switch {
	case len(m.Cells) == 0:
		return "no cell was run"
	case bad > 0:
		return fmt.Sprintf("%s not as expected, of %d", plural(bad, "cell", "cells"), len(m.Cells))
	case n[Inconclusive] > 0:
		return fmt.Sprintf("%s unknown, of %d", plural(n[Inconclusive], "cell", "cells"), len(m.Cells))
	}
	if n[LeftOut] == len(m.Cells) {
		return fmt.Sprintf("no cell was run; %d left out", n[LeftOut])
	}
	text := fmt.Sprintf("all %s as expected", plural(len(m.Cells)-n[LeftOut], "cell", "cells"))
	if n[Holds] == 0 && n[Expected] > 0 {
		text = fmt.Sprintf("all %s failed as expected", plural(n[Expected], "cell", "cells"))
	} else if n[Expected] > 0 {
		text += fmt.Sprintf(": %d passed, %s", n[Holds], plural(n[Expected], "expected failure", "expected failures"))
	}
	if n[LeftOut] > 0 {
		text += fmt.Sprintf("; %d left out", n[LeftOut])
	}
	return text
}

func (m *Matrix) counted() []matrixCount {
	var out []matrixCount
	n := m.Count()
	for _, s := range States {
		if n[s] > 0 {
			out = append(out, matrixCount{n[s], s, stateClass(s)})
		}
	}
	return out
}

func (m *Matrix) versionPairs() []pair {
	var out []pair
	for _, k := range slices.Sorted(maps.Keys(m.Versions)) {
		out = append(out, pair{clip(k, 60), clip(m.Versions[k], 200)})
	}
	return append(out, pair{"machine", clip(fmt.Sprintf("%s/%s, kernel %s, %d CPUs", m.Machine.OS, m.Machine.Arch, m.Machine.Kernel, m.Machine.CPUs), 200)})
}

// MatrixHTML writes the page: one file that needs no network, and no script to be read.
func MatrixHTML(w io.Writer, m *Matrix) error {
	contended := 0
	if len(m.Paces) > 0 {
		contended = m.Paces[0].Clients
	}
	p := matrixPage{
		CSS: template.CSS(matrixCSS), JS: template.JS(matrixJS), Glyphs: glyphs, //nolint:gosec // our own files
		Title: "picklock: " + m.headlineOf(), Class: class(m.Validity()),
		When:     m.Finished.Format("2006-01-02 15:04:05 MST"),
		Versions: m.versionPairs(), Counts: m.counted(), Columns: m.columns(), Width: 1 + len(m.columns()), Groups: m.groups(),
		Paces: m.paceRows(), Clients: contended,
	}
	if g := m.grid(); len(g.Rows) > 0 {
		p.Grid = &g
		sizes := fmt.Sprintf(".grid{--columns:%d;--rows:%d;--panels:%d}", g.Columns, len(g.Rows), len(g.Panels))
		p.Sizes = template.CSS(sizes) //nolint:gosec // numbers
	}
	p.CSP = "default-src 'none'; style-src '" + hash(matrixCSS) + "' '" + hash(string(p.Sizes)) + "'; script-src '" + hash(matrixJS) + "'; base-uri 'none'; form-action 'none'"
	return matrixTemplate().Execute(w, p)
}

// MatrixMD writes a table for a README.
func MatrixMD(w io.Writer, m *Matrix) error {
	var b strings.Builder
	columns := m.columns()
	var versions []string
	for _, p := range m.versionPairs() {
		versions = append(versions, markdownEscaper.Replace(p.Name+" "+p.Value))
	}
	fmt.Fprintf(&b, "%s, %s; %s.\n\n", m.Finished.Format("2006-01-02"), strings.Join(versions, "; "), m.headlineOf())
	fmt.Fprintf(&b, "| scenario | lock | %s |\n|---|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, g := range m.groups() {
		for i, r := range g.Rows {
			name := ""
			if i == 0 {
				name = markdownEscaper.Replace(g.Name)
			}
			fmt.Fprintf(&b, "| %s | %s |", name, markdownEscaper.Replace(r.Lock))
			for _, c := range r.Cells {
				fmt.Fprintf(&b, " %s |", markdownEscaper.Replace(c.text()))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString(m.paceMarkdown())
	_, err := io.WriteString(w, b.String())
	return err
}

// text is the cell in a word or two.
func (c matrixCell) text() string {
	if !c.Ran {
		return ""
	}
	text := map[State]string{Holds: "pass", Expected: "✗ " + c.Found, Violated: "✗ " + c.Found, Unexpected: "not as expected: " + firstNonEmpty(c.Found, "pass"), Inconclusive: "unknown", LeftOut: "left out"}[c.State]
	if c.Note != "" && c.State != Unexpected && c.State != Inconclusive {
		text += " (" + c.Note + ")"
	}
	return text
}

// MatrixSummary writes what a terminal shows.
func MatrixSummary(w io.Writer, m *Matrix, page string, color bool) error {
	p := paint(color)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", p.sign(m.Validity()), p.bold(m.headlineOf()))
	for _, c := range m.counted() {
		fmt.Fprintf(&b, "  %4d %s\n", c.N, c.State)
	}
	for _, c := range m.Cells {
		s := c.State()
		if s != Unexpected && s != Inconclusive && s != Violated && s != LeftOut {
			continue
		}
		fmt.Fprintf(&b, "\n  %s %s on %s, fencing %s\n", p.red(string(s)), clip(c.Scenario, 80), clip(c.Lock, 80), c.Fencing)
		if s != LeftOut {
			fmt.Fprintf(&b, "    expected: %s\n    found:    %s\n", firstNonEmpty(clip(c.Expected, 200), "no broken promise, since the scenario does not name this lock"), c.found())
		}
		if why := firstNonEmpty(c.LeftOut, c.Why); why != "" {
			fmt.Fprintf(&b, "    why:      %s\n", clip(why, 1000))
		}
	}
	for _, c := range m.Cells {
		if bound := c.Bound(); bound != "" && c.Runs > 1 {
			fmt.Fprintf(&b, "  %s on %s, fencing %s: violations %s\n", clip(c.Scenario, 80), clip(c.Lock, 80), c.Fencing, bound)
		}
	}
	fmt.Fprintf(&b, "\n  page: %s\n", clean(page))
	_, err := io.WriteString(w, b.String())
	return err
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []JUnitSuite `xml:"testsuite"`
}

// MatrixJUnit writes junit.xml: a suite a lock, a case a scenario and discipline. The
// sentence that explains the violation is the failure's text.
func MatrixJUnit(w io.Writer, m *Matrix) error {
	var all junitSuites
	for _, c := range m.Cells {
		name := "picklock." + firstNonEmpty(clip(c.Lock, 200), "unnamed")
		i := slices.IndexFunc(all.Suites, func(s JUnitSuite) bool { return s.Name == name })
		if i < 0 {
			all.Suites, i = append(all.Suites, JUnitSuite{Name: name, Timestamp: m.Started.UTC().Format("2006-01-02T15:04:05")}), len(all.Suites)
		}
		s := &all.Suites[i]
		jc := JUnitCase{Name: clip(c.Scenario, 100) + ", fencing " + clip(c.Fencing, 40), Class: name, Time: fmt.Sprintf("%.3f", c.Seconds)}
		switch state := c.State(); state {
		case Unexpected, Violated:
			text := fmt.Sprintf("expected: %s\nfound: %s\n%s\n%s", firstNonEmpty(clip(c.Expected, 300), "valid"), c.found(), clip(c.Why, 2000), clip(c.Sentence, 2000))
			jc.Failure = &JUnitFailure{Message: clip(firstNonEmpty(c.Sentence, c.Why), 500), Type: firstNonEmpty(c.Class.Title(), strings.Join(c.Broken, " "), "missing"), Text: text}
			s.Failures++
		case Inconclusive, LeftOut:
			jc.Skipped = &JUnitSkipped{Message: clip(string(state)+": "+firstNonEmpty(c.LeftOut, c.Why), 1000)}
			s.Skipped++
		}
		s.Tests++
		s.Cases = append(s.Cases, jc)
	}
	for i := range all.Suites {
		total := 0.0
		for _, c := range m.Cells {
			if all.Suites[i].Name == "picklock."+firstNonEmpty(clip(c.Lock, 200), "unnamed") {
				total += c.Seconds
			}
		}
		all.Suites[i].Time = fmt.Sprintf("%.3f", total)
	}
	return WriteJUnit(w, all)
}
