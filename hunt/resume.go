package hunt

import (
	"slices"
	"strings"

	"github.com/picklock/picklock/scenarios"
)

// goOn takes what an earlier search ran and found.
func (h *Search) goOn() {
	h.owed = map[string]bool{}
	h.Adopt(latest(h.o.Found))
	for _, w := range slices.Clone(h.counterexamples) {
		h.counterexamples = append(h.counterexamples, w.Variants...)
		// What helps is tried anew, with what is needed then.
		w.Variants, w.Mitigations, w.Without = nil, nil, nil
	}
	for _, p := range h.o.Known {
		h.known(p)
	}
	h.before = h.result.Runs
}

// Regroup puts the counterexamples of one bug together by what is known of them. Finish does it, too.
func (h *Search) Regroup() {
	h.order()
	h.group()
	h.name()
	h.result.Counterexamples = h.counterexamples
}

// latest leaves of finds with one signature the last: it came more often, or was made smaller.
func latest(finds []Find) []Find {
	var out []Find
	for _, f := range finds {
		same := func(o Find) bool {
			return pendingKey(o.Counterexample.Signature) == pendingKey(f.Counterexample.Signature)
		}
		out = append(slices.DeleteFunc(out, same), f)
	}
	return out
}

// known takes a run of an earlier search.
func (h *Search) known(p Ran) {
	if p.Busy {
		h.result.Runs++
		h.result.Discarded++
		h.result.Busy++
		return
	}
	s, err := scenarios.Parse("schedule.yaml", []byte(p.Schedule))
	workload, _, _ := strings.Cut(p.Point, "|")
	parsed := err == nil
	var broke []Signature
	for _, root := range p.Broke {
		sig := h.ofRoot(root, s)
		broke = append(broke, sig)
		if !parsed || h.foundAlike(sig) { // a schedule that another version wrote is not known
			continue
		}
		if h.failureCounts["known "+root]++; h.failureCounts["known "+root] > 1 {
			continue
		}
		// The first of each kind that was not confirmed is run again.
		h.owed[sig.Name()] = true
		h.played[key(s)] = true
		if p.Point != "" {
			h.fates[p.Point] = fate{what: notReached} // until it was run again
		}
		h.retry = append(h.retry, retry{point: point{id: p.Point, schedule: s, workload: workload, depth: p.Depth, guided: p.Guided || p.Depth >= len(h.result.Depths)}})
		return
	}
	h.result.Runs++
	if p.Granted {
		h.result.Granted++
	}
	if h.judge(broke); p.Discarded != "" {
		h.result.Discarded++
	} else if parsed {
		h.result.ranWith(s.TriggeredFaults)
		h.result.decide(p.Decided)
	}
	if parsed && len(s.TriggeredFaults) == 1 {
		h.brokeBy(workload, s, broke)
	}
	h.played[p.Schedule] = true
	if p.Guided {
		h.countGuided(p.Discarded)
		return
	}
	h.fates[p.Point] = fateOfRun(p.Discarded, len(p.Broke) > 0)
}

// ofRoot is a signature that has a root, of a schedule. Without one, its faults are not known.
func (h *Search) ofRoot(root string, s *scenarios.Scenario) Signature {
	anomaly, cause, _ := strings.Cut(root, "|")
	sig := Signature{Anomaly: anomaly, Cause: cause}
	if s != nil {
		sig.Kinds = h.o.Target.kindsOf(s)
		sig.InAcquire = !sig.byWhatever() && inAcquire(s)
	}
	return sig
}

// foundAlike says that an earlier search has found what does the same harm.
func (h *Search) foundAlike(sig Signature) bool {
	return slices.ContainsFunc(h.counterexamples, func(w *Counterexample) bool { return w.alike() == sig.alike() })
}
