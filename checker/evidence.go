package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/format"
)

// evidence is what every anomaly's chain of events is made of: events, by the numbers that the
// history gives them, and the faults that were on.
type evidence struct {
	refs   eventNumbers
	faults *faultLog
}

// at lists the numbers of the events that refs name; those of -1 are left out.
func (v evidence) at(list ...int32) []int64 { return v.refs.at(list...) }

// finish fills in what every anomaly has: sorted evidence, the faults that had a part in it
// and those that were on besides, and their mention in the explanation. from is the
// earliest instant of the evidence.
func (v evidence) finish(a Anomaly, from int64, b blamed, processes ...string) Anomaly {
	for _, p := range processes {
		if !slices.Contains(a.Processes, p) {
			a.Processes = append(a.Processes, p)
		}
	}
	slices.Sort(a.Effects)
	a.Faults = []string{}
	var had []*fault
	if b.suspect != nil {
		a.Suspect = b.suspect.asSuspect()
		had = append(had, b.suspect.fault)
	}
	for _, p := range b.parts {
		if !slices.Contains(had, p.fault) {
			had = append(had, p.fault)
		}
	}
	a.Faults, a.Bystanders = namesOf(had), []string{}
	a.Explanation += faultWords(had) + v.besides(&a, min(from, a.Time), had)
	return a
}

// besides fills in the names of the faults that were on from an instant on and had no part, and
// puts them in words. There can be very many: it gives their names and their number.
func (v evidence) besides(a *Anomaly, from int64, had []*fault) string {
	n := v.faults.count(from, a.Time)
	named := map[string]int{} // those that had a part and were on
	for _, f := range had {
		if f.confirmed && f.begin <= a.Time && f.end >= from {
			named[f.name]++
			n--
		}
	}
	if n <= 0 {
		return ""
	}
	for _, name := range v.faults.names {
		if name.was(from, a.Time, named[name.name]) {
			a.Bystanders = append(a.Bystanders, name.name)
		}
	}
	slices.Sort(a.Bystanders)
	var words []string
	for i := v.faults.confirmed.first(0, from, a.Time); i >= 0 && len(words) < maxFaults; i = v.faults.confirmed.first(i+1, from, a.Time) {
		if f := v.faults.confirmed.list[i]; !slices.Contains(had, f) {
			words = append(words, f.words())
		}
	}
	return besideWords(words, n)
}

// besideWords names some of n faults that were on and had no part that the record shows.
func besideWords(words []string, n int) string {
	text := "; also on, with no part that this record shows: " + strings.Join(words, ", ")
	if n -= len(words); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// asSuspect is a part as a verdict has it.
func (p *part) asSuspect() *Suspect {
	s := &Suspect{Fault: p.name, Nodes: p.nodes, On: p.side, Begin: p.begin, End: p.end, Earlier: p.earlier}
	if n := len(s.Nodes) - maxNodes; n > 0 {
		s.Nodes, s.More = s.Nodes[:maxNodes], n
	}
	return s
}

// namesOf lists the names of faults, each once.
func namesOf(list []*fault) []string {
	out := []string{}
	for _, f := range list {
		if !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	slices.Sort(out)
	return out
}

// maxNodes is how many of a fault's nodes are named, of each anomaly.
const maxNodes = 16

// maxFaults is how many faults an explanation names, of each sort.
const maxFaults = 2

// faultWords names the faults that had a part, the suspect first, two at most.
func faultWords(had []*fault) string {
	var b strings.Builder
	for i, f := range had {
		if i == maxFaults {
			if n := len(had) - i; n == 1 {
				b.WriteString("; one more fault was on")
			} else {
				fmt.Fprintf(&b, "; %d more faults were on", n)
			}
			break
		}
		if f.ended {
			fmt.Fprintf(&b, "; %s was on from %s to %s", f.words(), format.Instant(f.begin), format.Instant(f.end))
		} else {
			fmt.Fprintf(&b, "; %s was on from %s", f.words(), format.Instant(f.begin))
		}
	}
	return b.String()
}

// words is the fault and its nodes: "pause of c1".
func (f *fault) words() string {
	if len(f.nodes) == 0 {
		return f.name
	}
	names, more := f.nodes, ""
	if n := len(names) - maxNodes; n > 0 {
		names, more = names[:maxNodes], fmt.Sprintf(" and %d more", n)
	}
	return f.name + " of " + strings.Join(names, ", ") + more
}
