package hunt

import (
	"slices"

	"github.com/picklock/picklock/scenarios"
)

type two struct {
	workload  workload
	triggered [2]scenarios.TriggeredFault
	rank      int
}

// pairs are the meaningful pairs of faults: those of which the first can change what the
// second does. Two faults of one client's, of which one alone keeps it from acting, are no
// more than that one; neither are two of one kind on servers.
func pairs(t Target, all []workload) []two {
	var out []two
	for i, w := range all {
		if w.strikes != nil {
			continue // it is there for one fault
		}
		var list []one
		for _, f := range faults(t, w.leading(t)) {
			// Of every fault the triggers of the highest priority are enough.
			triggered := tried(t, all, i, f)
			list = append(list, triggered[:min(len(triggered), 2)]...)
		}
		for j, a := range list {
			for _, b := range list[j+1:] {
				if meaningful(a.triggered, b.triggered) {
					out = append(out, two{w, [2]scenarios.TriggeredFault{a.triggered, b.triggered}, a.rank + b.rank + 2*i})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b two) int { return a.rank - b.rank })
	return out
}

func meaningful(a, b scenarios.TriggeredFault) bool {
	switch {
	case a.Fault.Text == b.Fault.Text:
		return false
	case a.Fault.Word == b.Fault.Word && slices.Equal(a.Fault.Nodes, b.Fault.Nodes) && slices.Equal(a.Fault.Peers, b.Fault.Peers):
		return false
	}
	stopped := func(s scenarios.TriggeredFault) string {
		if (s.Fault.Word == "pause" || s.Fault.Word == "kill") && len(s.Fault.Nodes) == 1 {
			return s.Fault.Nodes[0]
		}
		return ""
	}
	// A client that does not run feels nothing of its links.
	for _, x := range [][2]scenarios.TriggeredFault{{a, b}, {b, a}} {
		if c := stopped(x[0]); c != "" && x[0].When == x[1].When && slices.Contains(append(slices.Clone(x[1].Fault.Nodes), x[1].Fault.Peers...), c) && x[1].Fault.Word != "clock" {
			return false
		}
	}
	return true
}
