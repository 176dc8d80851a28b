package results

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// maxSummed is how many root causes a summary tells, and how many consequences of
// each; the report has the rest.
const maxSummed = 6

// Summary writes what a terminal shows at a run's end: the verdict, the
// properties, the first anomalies, where the report is and how to run it again.
// report may be empty. Nothing from the history reaches the terminal
// unfiltered.
func Summary(w io.Writer, run Run, v checker.Verdict, report string, color bool) error {
	run.NoLock = run.NoLock || v.Stats.NoLock
	p := paint(color)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", p.sign(v.Valid), p.bold(headline(run, v)))
	if words := run.CutWords(); words != "" && v.Valid == checker.False {
		fmt.Fprintf(&b, "  %s\n", words) // of an unknown verdict it is what is missing
	}
	for _, m := range missing(run, v) {
		fmt.Fprintf(&b, "  missing: %s\n", m)
	}
	if note := sectionNote(run, v); note != "" {
		fmt.Fprintf(&b, "  %s\n", note)
	}
	for _, text := range warnings(run) {
		fmt.Fprintf(&b, "  warning: %s\n", text)
	}
	if run.NoLock && v.Valid != checker.Unknown {
		b.WriteString(countsUnlocked(v.Stats))
	} else if v.Valid != checker.Unknown {
		s := v.Stats
		fmt.Fprintf(&b, "  %s (%s contested), %s accepted, %s rejected, %s of unknown outcome\n",
			plainCount(s.Grants, "grant", "grants"), format.Count(s.Contested), plainCount(s.Writes, "write", "writes"), format.Count(s.Rejected), format.Count(s.Unknown))
	}
	if s := v.Stats; s.LostUpdates > 0 && s.Acknowledged > 0 {
		fmt.Fprintf(&b, "  %s of %s acknowledged updates lost (%s %%)\n", format.Count(s.LostUpdates), format.Count(s.Acknowledged), format.Digits(100*float64(s.LostUpdates)/float64(s.Acknowledged)))
	}
	b.WriteByte('\n')
	for _, view := range properties(run, v) {
		note := view.Why
		if !view.Required && view.Verdict != "not checked" {
			note = strings.TrimSuffix("not required; "+note, "; ")
		}
		fmt.Fprintf(&b, "  %s %-19s %-14s %s\n", p.propertySign(view), view.Name, view.Verdict, note)
	}
	p.causes(&b, rootCauses(run, v), report != "")
	b.WriteByte('\n')
	if report != "" {
		fmt.Fprintf(&b, "  report: %s\n", clean(report))
	}
	fmt.Fprintf(&b, "  again:  %s\n", Command(run))
	_, err := io.WriteString(w, b.String())
	return err
}

// causes writes the root causes, the deepest first: a line for each kind with its
// number and its first evidence, why it came about, and the mitigation.
func (p paint) causes(b *strings.Builder, list []rootCause, reported bool) {
	for i, r := range list {
		b.WriteByte('\n')
		if i == maxSummed {
			where := "the verdict has (--json), and a report (--out DIR)"
			if reported {
				where = "the report has"
			}
			fmt.Fprintf(b, "  and %s more, which %s\n", plainCount(len(list)-i, "root cause", "root causes"), where)
			return
		}
		fmt.Fprintf(b, "  %s, first at %s: %s\n", p.kind(r.Name, r.Count, r.Required), r.At, clip(r.Evidence, 600))
		switch {
		case !r.Required:
			b.WriteString("    not required\n")
		case r.Class != "":
			fmt.Fprintf(b, "    %s\n", r.Class)
		}
		if r.Says != "" {
			fmt.Fprintf(b, "    cause:      %s\n    mitigation: %s\n                %s\n", r.Says, r.Do, r.Link)
		}
		if r.LedTo != "" {
			fmt.Fprintf(b, "    %s:\n", r.LedTo)
		}
		for _, c := range r.Then[:min(len(r.Then), maxSummed)] {
			fmt.Fprintf(b, "      %s, first at %s: %s\n", p.kind(c.Name, c.Count, c.Required), c.At, clip(c.Evidence, 600))
		}
	}
}

// kind is "stale-write × 31", red where it decides.
func (p paint) kind(name, count string, required bool) string {
	s := verdict.Shown(name) + " × " + count
	if required {
		return p.red(s)
	}
	return p.dim(s)
}

func plainCount(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return format.Count(n) + " " + many
}

// paint colours where the caller says so. The signs say the same without.
type paint bool

func (p paint) wrap(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string { return p.wrap("1", s) }
func (p paint) red(s string) string  { return p.wrap("31", s) }

func (p paint) dim(s string) string { return p.wrap("2", s) }

// propertySign tells at a glance what decides: what is not required has neither the
// cross of a broken property nor the question mark of one that is missing.
func (p paint) propertySign(view propertyView) string {
	switch view.Class {
	case "holds":
		return p.sign(checker.True)
	case "broken":
		return p.sign(checker.False)
	case "noted":
		return p.dim("○")
	case "idle":
		return p.dim("–")
	}
	return p.sign(checker.Unknown)
}

func (p paint) sign(v checker.Validity) string {
	switch v {
	case checker.True:
		return p.wrap("32", "✓")
	case checker.False:
		return p.wrap("31", "✗")
	}
	return p.wrap("33", "?")
}

// Row is one run's line in a table of several.
type Row struct {
	Lock    string
	Faults  string
	Fencing string
	Verdict checker.Validity
	Class   verdict.Class // of a fail
	First   string        // the first violation and when, or what an unknown run lacked
	Grants  int
	Counts  string // "stale-write 3, two-holders 5"
}

// RowOf sums one run up.
func RowOf(run Run, v checker.Verdict) Row {
	r := Row{
		Lock:    firstNonEmpty(clip(run.Lock, 60), "unnamed"),
		Faults:  firstNonEmpty(clip(strings.Join(run.Faults, ","), 60), "none"),
		Fencing: firstNonEmpty(clip(run.Fencing, 20), "none"),
		Verdict: v.Valid,
		Class:   v.Class(),
		Grants:  v.Stats.Grants,
	}
	if list := decisiveFirst(v); len(list) > 0 && (v.Valid == checker.False || v.Properties[list[0].Property].Required) {
		r.First = clip(list[0].Name, 60) + " at " + format.Instant(list[0].Time)
	} else if m := missing(run, v); len(m) > 0 {
		r.First = clip(m[0], 90)
	}
	var parts []string
	for _, c := range counts(v) {
		parts = append(parts, c.Name+" "+c.N)
	}
	if v.Stats.Rejected > 0 {
		parts = append(parts, "rejected "+format.Count(v.Stats.Rejected))
	}
	r.Counts = strings.Join(parts, ", ")
	return r
}

var columns = []string{"lock", "faults", "fencing", "verdict", "first violation", "grants", "anomalies and rejected writes"}

var verdictWords = map[checker.Validity]string{checker.True: "✓ pass", checker.False: "✗ ", checker.Unknown: "? unknown"}

// verdict is the row's: a fail is named by its class.
func (r Row) verdict() string { return verdictWords[r.Verdict] + r.Class.Title() }

// cells are a row's, in the order of columns.
func (r Row) cells() []string {
	return []string{r.Lock, r.Faults, r.Fencing, r.verdict(), firstNonEmpty(r.First, "-"), strconv.Itoa(r.Grants), firstNonEmpty(r.Counts, "-")}
}

var markdownEscaper = strings.NewReplacer("|", "\\|", "<", "&lt;", ">", "&gt;", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "\\", "\\\\")

// Markdown is one line of the table, without its newline.
func (r Row) Markdown() string {
	cells := r.cells()
	for i, c := range cells {
		cells[i] = markdownEscaper.Replace(c)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// TextTable writes rows as aligned columns for a terminal.
func TextTable(w io.Writer, rows []Row, color bool) error {
	p := paint(color)
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(columns, "\t"))
	for _, r := range rows {
		cells := r.cells()
		for i, c := range cells {
			cells[i] = clean(c)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	// Colours come last: they have no width.
	line, rest, _ := strings.Cut(b.String(), "\n")
	out := p.bold(line) + "\n"
	for _, r := range rows {
		line, rest, _ = strings.Cut(rest, "\n")
		_, word, _ := strings.Cut(r.verdict(), " ")
		out += strings.Replace(line, r.verdict(), p.sign(r.Verdict)+" "+word, 1) + "\n"
	}
	_, err := io.WriteString(w, out)
	return err
}
