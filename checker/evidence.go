package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/internal/format"
)

// evidence is what every anomaly's proof is made of: events, by the numbers that the
// history gives them, and the faults that were on.
type evidence struct {
	places places
	faults *faultLog
}

// at lists the events at places, for a proof; those of -1 are left out.
func (v evidence) at(list ...int32) []int64 { return v.places.at(list...) }

// finish fills in what every anomaly has: sorted proofs, the faults that had a part in it
// and those that were on besides, and their mention in the explanation. from is the
// earliest instant of the proof.
func (v evidence) finish(a Anomaly, from int64, b blamed, processes ...string) Anomaly {
	for _, p := range processes {
		if !slices.Contains(a.Processes, p) {
			a.Processes = append(a.Processes, p)
		}
	}
	slices.Sort(a.Effects)
	a.Faults = []string{}
	var had, beside []*fault
	if b.suspect != nil {
		a.Suspect = b.suspect.told()
		had = append(had, b.suspect.fault)
	}
	for _, p := range b.parts {
		if !slices.Contains(had, p.fault) {
			had = append(had, p.fault)
		}
	}
	for _, f := range v.faults.on(min(from, a.Time), a.Time) {
		if !slices.Contains(had, f) {
			beside = append(beside, f)
		}
	}
	a.Faults, a.Bystanders = namesOf(had), namesOf(beside)
	a.Explanation += faultWords(had) + besideWords(beside)
	return a
}

// told is a part as a verdict tells it.
func (p *part) told() *Suspect {
	return &Suspect{Fault: p.name, Nodes: p.nodes, On: p.side, Begin: p.begin, End: p.end}
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

// besideWords names those that were on and had no part that can be seen.
func besideWords(beside []*fault) string {
	if len(beside) == 0 {
		return ""
	}
	var names []string
	for _, f := range beside[:min(len(beside), maxFaults)] {
		names = append(names, f.words())
	}
	text := "; also on, with no part that can be seen: " + strings.Join(names, ", ")
	if n := len(beside) - maxFaults; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// words is the fault and whom it struck: "pause of c1".
func (f *fault) words() string {
	if len(f.nodes) == 0 {
		return f.name
	}
	return f.name + " of " + strings.Join(f.nodes, ", ")
}
