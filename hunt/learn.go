package hunt

import (
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
)

// enoughDiscarded is how often a trigger did not come, or a fault could not be done, until it is
// not tried again.
const enoughDiscarded = 2

// enoughUnsupported is how often a fault that never took effect is tried: a connection to break, say,
// is not there at every trigger.
const enoughUnsupported = 4

// observe takes what came of a run. It returns the signatures of what it broke that have to
// be confirmed.
func (h *Search) observe(p point, guided bool, out *Outcome) []Signature {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures = 0
	h.result.Runs++
	if out.Busy {
		h.result.Discarded++
		h.result.Busy++
		if h.failureCounts["busy "+key(p.schedule)]++; h.failureCounts["busy "+key(p.schedule)] < 3 {
			h.retry = append(h.retry, p)
		}
		h.progress()
		return nil
	}
	granted := slices.ContainsFunc(out.Events, func(e history.Event) bool { return e.F == history.Acquire && e.Type == history.OK })
	if granted {
		h.result.Granted++
	}
	f := feedbackOf(out.Events, h.o.Target.TTL)
	if p.again != nil {
		if h.corpus.again(p.again, f); p.again.proven && h.o.CorpusSync != nil {
			h.o.CorpusSync.Publish(p.again.gain())
		}
	}
	if p.schedule.TTL == h.o.Target.TTL { // margins are in leases, and a longer lease takes longer
		h.corpus.add(p.schedule, f)
	}
	var broke []Signature
	if out.Discarded != "" {
		h.discarded(p, out)
	} else {
		for _, st := range p.schedule.TriggeredFaults {
			h.confirmed[st.Fault.Text] = true
		}
	}
	// What a fault did that could not be done is not that fault's doing.
	if !out.Unsupported {
		broke = h.o.signatures(out.Verdict, p.schedule)
	}
	if p.again == nil {
		h.count(p, guided, out, len(broke) > 0)
	} else if out.Discarded != "" {
		h.result.Discarded++
	}
	if len(p.schedule.TriggeredFaults) == 1 && slices.ContainsFunc(broke, func(s Signature) bool { return !s.LeaseHazard() }) {
		h.breaking[h.faultKey(p.workload, p.schedule.TriggeredFaults[0])] = true
	}
	if h.o.Record != nil && p.again == nil {
		r := Ran{Schedule: key(p.schedule), Depth: p.depth, Guided: guided, Discarded: out.Discarded, Granted: granted, Took: out.Took, Setup: out.Setup}
		for _, b := range broke {
			r.Broke = append(r.Broke, b.root())
		}
		h.o.Record(r)
	}
	var fresh []Signature
	for _, sig := range broke {
		if h.knownCounterexample(sig) {
			continue
		}
		h.pending[pendingKey(sig)] = true
		fresh = append(fresh, sig)
	}
	h.progress()
	return fresh
}

func (h *Search) count(p point, guided bool, out *Outcome, broke bool) {
	if out.Discarded != "" {
		h.result.Discarded++
	}
	if guided {
		h.result.Guided++
		return
	}
	d := &h.result.Depths[p.depth]
	d.Ran++
	if out.Discarded != "" {
		d.Discarded++
	}
	if broke {
		d.Broke++
	}
}

// reason is why a fault cannot be done, without the fault's own name before it.
func reason(fault, why string) string {
	word, _, _ := strings.Cut(fault, ":")
	if _, after, ok := strings.Cut(why, " did not take effect: "); ok {
		why = after
	}
	return strings.TrimPrefix(strings.TrimPrefix(why, word+": "), "fault "+word+": ")
}

// discarded learns from a run that was not as it was meant.
func (h *Search) discarded(p point, out *Outcome) {
	for _, st := range p.schedule.TriggeredFaults {
		switch {
		case out.Unsupported && out.FailedFault == st.Fault.Text:
			// One that took effect once can be injected here, and had no target this time.
			k := "fault " + st.Fault.Text
			if h.failureCounts[k]++; h.failureCounts[k] >= enoughUnsupported && !h.confirmed[st.Fault.Text] {
				h.infeasible[k] = out.Discarded
			}
		case !out.Unsupported && out.FailedFault == st.Fault.Text && p.workload != "" && p.depth == 1:
			k := p.workload + "|" + st.When.String()
			if h.failureCounts[k]++; h.failureCounts[k] >= enoughDiscarded {
				h.infeasible[k] = out.Discarded
			}
		}
	}
}

func pendingKey(s Signature) string { return s.root() + "|" + strings.Join(s.Kinds, ",") }

// enoughOthers is how many more schedules are confirmed of a counterexample that is intermittent.
const enoughOthers = 8

// knownCounterexample says that a signature is of a counterexample that is known or being confirmed, and counts
// it there. An intermittent one is no reason to pass over a schedule that may show the
// same reliably.
func (h *Search) knownCounterexample(sig Signature) bool {
	for _, w := range h.counterexamples {
		same := pendingKey(w.Signature) == pendingKey(sig)
		if same && !w.Steady() && w.others < enoughOthers {
			continue
		}
		if w.within(sig) && w.Search.Hits > 1 || same {
			w.Seen++
			return true
		}
	}
	for _, known := range h.o.FoundElsewhere {
		if known.within(sig) {
			return true
		}
	}
	for k := range h.pending {
		if k == pendingKey(sig) || sig.LeaseHazard() && strings.HasPrefix(k, sig.root()+"|") {
			return true
		}
	}
	return false
}
