package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/format"
)

// evidenceRow is one line of an anomaly's evidence: one event of the history, one
// effect of the register, or, unnumbered, a fault that was on.
type evidenceRow struct {
	N      int // 0: context
	Found  bool
	At     string
	Rel    string
	Who    string
	What   string
	Detail string
	Source string // "event 812"
	Class  string // colours the row: refused, fault, harm

	at    int64
	order int64 // where times are equal: as the history has them
	nodes []string
	grant string
}

// evidence is the chain of an anomaly in the order of time, and how many of its
// rows were cut. The named faults that were on are added as context.
func (t *timeline) evidence(a checker.Anomaly, events []history.Event, effects []history.Effect) (rows []evidenceRow, cut int) {
	var lost []evidenceRow
	for _, idx := range a.Events {
		if i, ok := t.byIndex[idx]; ok {
			rows = append(rows, eventRow(&events[i]))
		} else {
			lost = append(lost, evidenceRow{Source: fmt.Sprintf("event %d", idx), What: "is not in " + HistoryFile})
		}
	}
	for _, seq := range a.Effects {
		if i, ok := t.bySeq[seq]; ok {
			rows = append(rows, t.effectRow(&effects[i]))
		} else {
			lost = append(lost, evidenceRow{Source: fmt.Sprintf("effect %d", seq), What: "is not in " + RegisterFile})
		}
	}
	byTime := func(a, b evidenceRow) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		return cmp.Compare(a.order, b.order)
	}
	slices.SortStableFunc(rows, byTime)
	if len(rows) > maxRows {
		cut = len(rows) - maxRows
		// The beginning and the end say most of a long chain.
		rows = slices.Concat(rows[:maxRows/2], rows[len(rows)-maxRows/2:])
	}
	first, last := a.Time, a.Time
	for i := range rows {
		rows[i].N = i + 1
		first, last = min(first, rows[i].at), max(last, rows[i].at)
		if rows[i].at == a.Time && rows[i].Class == "" {
			rows[i].Class = "harm"
		}
	}
	rows = append(rows, t.context(a, first, last)...)
	slices.SortStableFunc(rows, byTime)
	stamp(rows, first)
	if len(lost) > maxRows {
		cut += len(lost) - maxRows
		lost = lost[:maxRows]
	}
	return append(rows, lost...), cut
}

// context is the faults that the anomaly names and that were on meanwhile.
func (t *timeline) context(a checker.Anomaly, first, last int64) []evidenceRow {
	var out []evidenceRow
	for _, b := range t.Bands {
		if !slices.Contains(a.Faults, b.Name) || b.To < first || b.From > last || !b.Confirmed || len(out) >= 8 || t.elsewhere(b, a) {
			continue
		}
		row := evidenceRow{Found: true, Who: "fault", Class: "fault", at: b.From, order: math.MinInt64, Detail: clip(b.Detail, maxChip)}
		var on []string
		for _, l := range b.Tracks {
			on = append(on, clip(t.Tracks[l].Name, 60))
		}
		row.What = clip(b.Name, 40)
		if len(on) > 0 {
			row.What += " of " + clip(format.And(on), 120)
		}
		switch {
		case b.To == b.From:
		case b.Healed:
			row.What += " begins, lasts " + format.Page.Length(b.To-b.From)
		default:
			row.What += " begins, is on until the end"
		}
		out = append(out, row)
	}
	return out
}

// elsewhere says that a fault affected only clients that the anomaly is not about.
func (t *timeline) elsewhere(b band, a checker.Anomaly) bool {
	others := false
	for _, l := range b.Tracks {
		name := t.Tracks[l].Name
		if slices.Contains(a.Processes, name) || a.Suspect != nil && slices.Contains(a.Suspect.Nodes, name) {
			return false
		}
		others = others || t.Tracks[l].Role == roleClient
	}
	return others
}

// stamp prints the rows' times, relative to the first numbered one.
func stamp(rows []evidenceRow, first int64) {
	zero := first
	for i := range rows {
		if rows[i].N == 1 {
			zero = rows[i].at
		}
	}
	gap := int64(math.MaxInt64)
	for i := range rows {
		if i > 0 && rows[i].at > rows[i-1].at {
			gap = min(gap, rows[i].at-rows[i-1].at)
		}
	}
	for i := range rows {
		rows[i].At = format.Instant(rows[i].at)
		rows[i].Rel = format.Offset(rows[i].at-zero, gap)
		if rows[i].at == zero {
			rows[i].Rel = "0"
		}
	}
}

func eventRow(e *history.Event) evidenceRow {
	r := evidenceRow{Found: true, at: e.Time, order: e.Index, Who: clip(e.Process, 60), Source: fmt.Sprintf("event %d", e.Index), grant: e.Grant, nodes: []string{e.Process}}
	if e.Process == history.Nemesis {
		r.Who, r.Class, r.nodes = "fault", "fault", e.Nodes
		r.What = clip(e.F, 40)
		if len(e.Nodes) > 0 {
			r.What += " of " + clip(format.And(e.Nodes), 120)
		}
		switch {
		case e.Phase == history.End:
			r.What += " ends"
		case e.Phase == history.Begin && e.Confirmed:
			r.What += " begins"
		case e.Phase == history.Begin:
			r.What += " is tried and does not land"
		}
		r.Detail = clip(e.Detail, maxChip)
		return r
	}
	r.What = eventWords(e)
	if e.Type == history.Fail && e.F != history.Acquire {
		r.Class = "refused"
	}
	r.Detail = details(e)
	return r
}

// eventWords says what an event means, as one would tell it.
func eventWords(e *history.Event) string {
	value := "“" + clip(e.Value, 80) + "”"
	if e.Value == "" {
		value = "nothing"
	}
	grant := clip(firstNonEmpty(e.Grant, "the lock"), 60)
	switch e.F + " " + string(e.Type) {
	case "acquire invoke":
		return "asks for the lock"
	case "acquire ok":
		return "is granted " + grant
	case "acquire fail":
		return "is not granted the lock"
	case "acquire info":
		return "does not learn whether it was granted the lock"
	case "release invoke":
		return "gives " + grant + " back"
	case "release ok":
		if e.Held {
			return "learns that " + grant + " was in force until it came back"
		}
		return "learns that " + grant + " is given back"
	case "release fail":
		return "learns that " + grant + " is no longer its own"
	case "release info":
		return "does not learn whether " + grant + " is given back"
	case "renew invoke":
		return "asks to renew " + grant
	case "renew ok":
		return "has renewed " + grant
	case "renew fail":
		return "fails to renew " + grant
	case "renew info":
		return "does not learn whether " + grant + " is renewed"
	case "lost info":
		return "learns that it has lost " + grant
	case "read invoke":
		return "reads the register"
	case "read ok":
		return "has read " + value
	case "read fail":
		return "is refused the read"
	case "write invoke":
		return "sends the write of " + value
	case "write ok":
		return "learns that its write of " + value + " is accepted"
	case "write fail":
		return "learns that its write of " + value + " is refused"
	case "write info":
		return "does not learn what became of its write of " + value
	case "add invoke":
		return "sends the update " + value
	case "add ok":
		return "learns that its update " + value + " is accepted"
	case "add fail":
		return "learns that its update " + value + " is refused"
	case "add info":
		return "does not learn what became of its update " + value
	}
	return clip(e.F+" "+string(e.Type), 80)
}

func details(e *history.Event) string {
	s := ""
	add := func(x string) {
		if s != "" {
			s += " · "
		}
		s += x
	}
	if e.Token != 0 {
		add(fmt.Sprintf("token %d", e.Token))
	}
	if e.Lease > 0 {
		end := ends(e.Since, e.Lease)
		add(fmt.Sprintf("lease %s, certain until %s", format.Page.Length(e.Lease), format.Instant(end)))
	}
	if e.Error != "" {
		add(clip(e.Error, maxChip))
	}
	return s
}

func (t *timeline) effectRow(e *history.Effect) evidenceRow {
	r := evidenceRow{Found: true, at: e.Time, order: math.MaxInt64/2 + e.Seq/4, Who: roleRegister, Source: fmt.Sprintf("effect %d", e.Seq), grant: e.Grant}
	for _, l := range t.Tracks {
		if l.Role == roleRegister {
			r.nodes, r.Who = []string{l.Name}, clip(l.Name, 60)
			break
		}
	}
	what := map[string]string{history.Read: "read", history.Write: "write", history.Add: "update"}[e.F]
	verb := "carries out"
	if e.Error != "" {
		verb, r.Class = "refuses", "refused"
	}
	r.What = fmt.Sprintf("%s the %s of %s by %s", verb, firstNonEmpty(what, "operation"), "“"+clip(e.Value, 80)+"”", clip(e.Process, 60))
	if e.F == history.Read {
		r.What = fmt.Sprintf("%s the read by %s", verb, clip(e.Process, 60))
	}
	r.Detail = fmt.Sprintf("version %d", e.Version)
	if e.Token != 0 {
		r.Detail = fmt.Sprintf("token %d · highest %d · ", e.Token, e.Highest) + r.Detail
	}
	if e.Error != "" {
		r.Detail += " · " + clip(e.Error, maxChip)
	}
	return r
}
