package results

import (
	"fmt"
	"strings"

	"github.com/picklock/picklock/internal/format"
)

// Pace is how fast one lock was, measured beside the others: what its safety costs.
type Pace struct {
	Lock string `json:"lock"`
	// Alone is the time from asking for the lock until it is granted while nobody
	// else wants it; Contended the same among Clients that all do.
	Alone     *Waited `json:"alone,omitempty"`
	Contended *Waited `json:"contended,omitempty"`
	Clients   int     `json:"clients"`
	// Rate is the contended grants per second, all clients together.
	Rate float64 `json:"rate"`
	// Fault is what the recovery is measured after, and Recovered for how long, after
	// each fault, no client was granted the lock at the longest.
	Fault     string  `json:"fault,omitempty"`
	Faults    int     `json:"faults,omitempty"`
	Recovered *Waited `json:"recovered,omitempty"`
	// Why says what could not be measured.
	Why  string   `json:"why,omitempty"`
	Dirs []string `json:"dirs,omitempty"` // of the runs
}

// Waited is a distribution of waiting times, in ns.
type Waited struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// paceRow is a Pace in words.
type paceRow struct {
	Lock, Alone, Contended, Rate, Recovered, Why string
	Link                                         string
}

func (m *Matrix) paceRows() []paceRow {
	var out []paceRow
	for _, p := range m.Paces {
		r := paceRow{Lock: clip(p.Lock, 100), Alone: p.Alone.words(), Contended: p.Contended.words(), Why: clip(p.Why, 300)}
		if p.Rate > 0 {
			r.Rate = format.Digits(p.Rate)
		}
		if p.Recovered != nil {
			r.Recovered = fmt.Sprintf("%s / %s (%s, %s)", format.Table.Length(p.Recovered.P50), format.Table.Length(p.Recovered.Max), clip(p.Fault, 40), plural(p.Faults, "fault", "faults"))
		}
		if len(p.Dirs) > 0 {
			r.Link = p.Dirs[0] + "/" + ReportFile
		}
		out = append(out, r)
	}
	return out
}

func (w *Waited) words() string {
	if w == nil {
		return ""
	}
	return format.Table.Length(w.P50) + " / " + format.Table.Length(w.P99)
}

// paceMarkdown is the table for a README; "" where nothing was measured.
func (m *Matrix) paceMarkdown() string {
	rows := m.paceRows()
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n| lock | granted in, alone (p50 / p99) | granted in, of %d clients (p50 / p99) | grants a second | back after (median / longest) |\n|---|---|---|---|---|\n", m.Paces[0].Clients)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", markdownEscaper.Replace(r.Lock), r.Alone, r.Contended, r.Rate, markdownEscaper.Replace(firstNonEmpty(r.Recovered, r.Why)))
	}
	return b.String()
}
