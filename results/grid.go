package results

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// The grid is the matrix in one picture: locks down, scenarios across in one panel a
// kind of fencing, a square a cell. It is drawn on the page and as matrix.svg.
type grid struct {
	Panels   []gridPanel
	Rows     []gridRow
	Columns  int
	Legend   []gridLegend
	Services []string
}

// gridPanel is the columns of one kind of fencing.
type gridPanel struct {
	Title   string
	Columns []gridColumn
}

type gridColumn struct {
	Scenario, Fencing string
	Label, About      string
	Last              bool // of its panel
}

type gridRow struct {
	Lock, Service string
	Label         string
	Squares       []gridSquare // one a column, over all panels
}

// gridSquare is one cell; Outcome is nil where there is none.
type gridSquare struct {
	Outcome *outcome
	Link    string
	Text    string // what was run, what came of it, and the evidence: a line each
	Last    bool   // of its panel
}

type gridLegend struct {
	*outcome
	N int
}

// outcome is what a square says. The name is its CSS class and its glyph's.
type outcome struct {
	Name, Word string
}

// The outcomes, in the order of the legend.
var (
	outHeld     = &outcome{"g-held", "pass"}
	outRefused  = &outcome{"g-refused", "pass: the register refused"}
	outKnown    = &outcome{"g-known", "expected failure"}
	outBroke    = &outcome{"g-bad", "fail"}
	outBad      = &outcome{"g-bad", "not as expected"}
	outLittle   = &outcome{"g-little", "unknown"}
	outLeft     = &outcome{"g-left", "left out"}
	allOutcomes = []*outcome{outHeld, outRefused, outKnown, outBroke, outBad, outLittle, outLeft}
)

// outcome tells apart whether the lock held by itself or the register refused what
// came too late. Without fencing a register refuses nobody for being late.
func (c Cell) outcome() *outcome {
	switch c.State() {
	case Holds:
		if c.Refused > 0 && c.Fencing != "none" {
			return outRefused
		}
		return outHeld
	case Expected:
		return outKnown
	case Violated:
		return outBroke
	case Unexpected:
		return outBad
	case LeftOut:
		return outLeft
	}
	return outLittle
}

// The panels: each discipline is in the first that names it, or in one of its own.
var gridPanels = []struct {
	title       string
	disciplines []string
}{
	{"without fencing", []string{"none"}},
	{"fencing: write", []string{"write", "write-strict"}},
	{"read-write", []string{"read-write"}},
	{"sequencer", []string{"sequencer", "sequencer-apart"}},
}

func (m *Matrix) grid() grid {
	var g grid
	scenarios, locks := m.scenarioOrder(), m.lockOrder()
	g.Panels = m.gridPanels(scenarios)
	at := map[[3]string]Cell{}
	service := map[string]string{}
	for _, c := range m.Cells {
		at[[3]string{c.Lock, c.Scenario, c.Fencing}] = c
		service[c.Lock] = c.Service
		if c.Service != "" && !slices.Contains(g.Services, c.Service) {
			g.Services = append(g.Services, clip(c.Service, 40))
		}
	}
	slices.Sort(g.Services)
	for _, lock := range locks {
		r := gridRow{Lock: clip(lock, 200), Label: clip(lock, 24), Service: clip(service[lock], 40)}
		for _, p := range g.Panels {
			for _, col := range p.Columns {
				sq := gridSquare{Last: col.Last}
				if c, ok := at[[3]string{lock, col.Scenario, col.Fencing}]; ok {
					sq.Outcome, sq.Link, sq.Text = c.outcome(), c.reportLink(), c.story()
				}
				r.Squares = append(r.Squares, sq)
			}
		}
		g.Rows, g.Columns = append(g.Rows, r), len(r.Squares)
	}
	g.Legend = m.legend()
	for i := range g.Panels {
		for j := range g.Panels[i].Columns {
			c := &g.Panels[i].Columns[j]
			c.Scenario, c.Fencing = clip(c.Scenario, 100), clip(c.Fencing, 40)
		}
	}
	return g
}

func (m *Matrix) gridPanels(scenarios []string) []gridPanel {
	var out []gridPanel
	add := func(title string, disciplines []string) {
		p := gridPanel{Title: title}
		for _, s := range scenarios {
			for _, d := range disciplines {
				if !slices.ContainsFunc(m.Cells, func(c Cell) bool { return c.Scenario == s && c.Fencing == d }) {
					continue
				}
				label := clip(s, 30)
				if rest := strings.TrimPrefix(d, disciplines[0]+"-"); rest != d {
					label += " (" + clip(rest, 30) + ")"
				}
				p.Columns = append(p.Columns, gridColumn{Scenario: s, Fencing: d, Label: label, About: clip(m.about(s), 300)})
			}
		}
		if len(p.Columns) > 0 {
			p.Columns[len(p.Columns)-1].Last = true
			out = append(out, p)
		}
	}
	known := map[string]bool{}
	for _, p := range gridPanels {
		add(p.title, p.disciplines)
		for _, d := range p.disciplines {
			known[d] = true
		}
	}
	for _, d := range m.columns() {
		if !known[d] {
			add("fencing: "+clip(d, 30), []string{d})
		}
	}
	return out
}

func (m *Matrix) about(scenario string) string {
	for _, s := range m.Scenarios {
		if s.Name == scenario {
			return s.About
		}
	}
	return ""
}

func (m *Matrix) legend() []gridLegend {
	n := map[*outcome]int{}
	for _, c := range m.Cells {
		n[c.outcome()]++
	}
	var out []gridLegend
	for _, o := range allOutcomes {
		if n[o] > 0 {
			out = append(out, gridLegend{o, n[o]})
		}
	}
	return out
}

// lockOrder sorts the locks by their service and name.
func (m *Matrix) lockOrder() []string {
	service := map[string]string{}
	for _, c := range m.Cells {
		service[c.Lock] = c.Service
	}
	return slices.SortedFunc(maps.Keys(service), func(a, b string) int {
		return cmp.Or(strings.Compare(service[a], service[b]), strings.Compare(a, b))
	})
}

// scenarioOrder is the order in which the cells name scenarios.
func (m *Matrix) scenarioOrder() []string {
	var names []string
	for _, c := range m.Cells {
		if !slices.Contains(names, c.Scenario) {
			names = append(names, c.Scenario)
		}
	}
	return names
}

func (c Cell) reportLink() string {
	dir := strings.ReplaceAll(c.Dir, `\`, "/")
	if dir == "" || !fs.ValidPath(dir) { // a file that was edited leads nowhere else
		return ""
	}
	return dir + "/" + ReportFile
}

// story is what a square tells: what was run, what came of it, and why.
func (c Cell) story() string {
	played := clip(c.Scenario, 100) + " on " + clip(c.Lock, 100) + ", without fencing"
	if c.Fencing != "none" {
		played = clip(c.Scenario, 100) + " on " + clip(c.Lock, 100) + ", fencing " + clip(c.Fencing, 40)
	}
	o := c.outcome()
	result, evidence := o.Word, ""
	broken := clip(strings.Join(c.Broken, ", "), 200)
	switch o {
	case outHeld:
		if c.Confirmed > 0 {
			result += ": " + plural(c.Confirmed, "fault", "faults") + " took effect"
		}
		evidence = firstNonEmpty(c.Bound(), c.Sentence)
	case outRefused:
		result += ": " + plural(c.Refused, "operation", "operations")
	case outKnown, outBroke:
		result, evidence = result+": "+broken, c.Sentence
	case outBad:
		result += fmt.Sprintf(": expected %s, found %s", clip(firstNonEmpty(c.Expected, "valid"), 200), clip(c.found(), 200))
		evidence = firstNonEmpty(c.Sentence, c.Why)
	case outLittle:
		evidence = c.Why
	case outLeft:
		evidence = c.LeftOut
	}
	lines := []string{played, result}
	if evidence != "" {
		lines = append(lines, clip(strings.ReplaceAll(evidence, "\n", " "), 500))
	}
	if c.Emulator != "" {
		lines = append(lines, "on "+clip(c.Emulator, 60)+", an emulator")
	}
	return strings.Join(lines, "\n")
}
