package hunt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/scenarios"
)

// worthTrying is the rate at which a trigger has to come: below it, most runs would be discarded.
const worthTrying = 0.5

// enoughUnsupported is how often a fault that never took effect is tried: a connection to break, say,
// is not there at every trigger.
const enoughUnsupported = 4

// triesOfBusy is how often a schedule is run that the machine was too busy for.
const triesOfBusy = 3

// onceMore is the next try of a schedule that the machine was too busy for, if there is one. The last try of a program
// without a fault has no other run beside it: nothing else shows what that program does.
func (h *Search) onceMore(p point) (_ point, yes bool) {
	k := "busy " + key(p.schedule)
	h.failureCounts[k]++
	p.alone = p.depth == 0 && !p.guided && h.failureCounts[k] == triesOfBusy-1
	return p, h.failureCounts[k] < triesOfBusy
}

// tooSlow says that a run has no grant, beside other runs and without that a fault had begun, and that the lock was granted in another one: this machine was
// too busy for what the clients do to get it. What a program without faults does with the machine to itself counts.
func (h *Search) tooSlow(p point, out *Outcome) bool {
	return !p.alone && h.result.Granted > 0 && slices.ContainsFunc(out.Verdict.Anomalies, func(a verdict.Anomaly) bool {
		return a.Name == "deadlock" && a.Cause == neverGranted
	})
}

// tooBusyFor is why a run is discarded that the machine was too busy for.
const tooBusyFor = "this machine was too busy"

// neverGranted is the cause of a deadlock in whose record no lock was granted.
const neverGranted = "never-granted"

// observe takes what came of a run. It returns the signatures of what it broke that have to
// be confirmed.
func (h *Search) observe(p point, guided bool, out *Outcome) []Signature {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures = 0
	h.lease = max(h.lease, out.Lease)
	h.result.Runs++
	if h.tooSlow(p, out) {
		out.Busy, out.Discarded = true, tooBusyFor
	}
	if out.Busy {
		h.result.Discarded++
		h.result.Busy++
		if again, yes := h.onceMore(p); yes {
			h.retry = append(h.retry, retry{point: again})
		}
		if p.id != "" && !p.counted {
			h.fates[p.id] = fate{what: WasDiscarded, why: tooBusyFor}
		}
		if h.o.Record != nil && p.first() {
			h.o.Record(Ran{Schedule: key(p.schedule), Point: p.id, Depth: p.depth, Guided: guided, Discarded: out.Discarded, Busy: true, Took: out.Took, Setup: out.Setup})
		}
		h.progress()
		return nil
	}
	granted := slices.ContainsFunc(out.Events, func(e history.Event) bool { return e.F == history.Acquire && e.Type == history.OK })
	if granted {
		h.result.Granted++
	}
	f := feedbackOf(out.Events, h.o.Target.TTL)
	// What a fault did that could not be done is not that fault's doing.
	var broke []Signature
	if !out.Unsupported {
		broke = h.o.signatures(out.Verdict, p.schedule)
	}
	if len(broke) > 0 {
		f.margins = nil // it is not close to a violation, it has one: that is confirmed, and shrunk
	}
	if p.again != nil {
		if h.corpus.again(p.again, f); p.again.proven && h.o.CorpusSync != nil {
			h.o.CorpusSync.Publish(p.again.gain())
		}
	}
	brought := len(broke) > 0
	// Margins are in leases, and a longer lease takes longer; so do more clients, which are not changed at random.
	if p.schedule.TTL == h.o.Target.TTL && len(p.schedule.Clients) <= len(h.o.Target.ClientNames()) {
		brought = h.corpus.add(p.schedule, f) || brought
	}
	h.mutator.bandit.reward(p.arms, brought && out.Discarded == "")
	if out.Cannot != "" {
		h.infeasible[actPrefix+out.Cannot] = out.Discarded
	}
	if out.Discarded != "" {
		h.discarded(p, out)
	} else {
		h.result.ranWith(p.schedule.TriggeredFaults)
		h.result.decide(decidedBy(out.Verdict))
		for _, st := range p.schedule.TriggeredFaults {
			h.passed[messagesOf(st.When)] = max(h.passed[messagesOf(st.When)], st.When.N)
			if h.confirmed[st.Fault.Text] = true; p.workload != "" {
				h.came(p.workload, st, true, "")
			}
		}
	}
	if p.first() {
		h.judge(broke)
		h.count(p, guided, out, len(broke) > 0)
	} else if out.Discarded != "" {
		h.result.Discarded++
	}
	if len(p.schedule.TriggeredFaults) == 1 {
		h.brokeBy(p.workload, p.schedule, broke)
	}
	if h.o.Record != nil && p.first() {
		r := Ran{Decided: decidedBy(out.Verdict), Schedule: key(p.schedule), Point: p.id, Depth: p.depth, Guided: guided, Discarded: out.Discarded, Granted: granted, Took: out.Took, Setup: out.Setup}
		for _, b := range broke {
			r.Broke = append(r.Broke, b.root())
		}
		h.o.Record(r)
	}
	var fresh []Signature
	for _, sig := range broke {
		delete(h.owed, h.ofRoot(sig.root(), nil).Name())
		if h.knownCounterexample(sig) {
			h.passOver(p, sig, out)
			continue
		}
		h.pending[pendingKey(sig)] = true
		fresh = append(fresh, sig)
	}
	h.progress()
	return fresh
}

// passOver keeps a schedule that showed what is being confirmed of another one, which may come more seldom, if it has the fewest faults of those.
func (h *Search) passOver(p point, sig Signature, out *Outcome) {
	k := pendingKey(sig)
	if !h.pending[k] || !p.first() || out.Discarded != "" {
		return
	}
	if known, ok := h.passedOver[k]; !ok || p.depth < known.depth {
		h.passedOver[k] = p
	}
}

// takeUp has the schedule that was passed over run once more, if the one that was confirmed instead is intermittent and has no fewer faults.
func (h *Search) takeUp(w *Counterexample) {
	k := pendingKey(w.Signature)
	p, ok := h.passedOver[k]
	delete(h.passedOver, k)
	if ok && w.Search.Hits < w.Search.Runs && p.depth <= w.Faults {
		p.counted = true
		h.retry = append(h.retry, retry{point: p})
	}
}

// judge counts what a schedule showed.
func (h *Search) judge(broke []Signature) {
	h.judged++
	kinds := map[string]bool{}
	for _, sig := range broke {
		kinds[sig.alike()] = true
	}
	for k := range kinds {
		h.showed[k]++
	}
}

// brokeBy notes what the one fault of a schedule broke by itself.
func (h *Search) brokeBy(workload string, s *scenarios.Scenario, broke []Signature) {
	k := h.faultKey(workload, s.TriggeredFaults[0])
	h.breaking[k] = append(h.breaking[k], slices.DeleteFunc(slices.Clone(broke), Signature.LeaseHazard)...)
}

func (h *Search) count(p point, guided bool, out *Outcome, broke bool) {
	if out.Discarded != "" {
		h.result.Discarded++
	}
	if guided {
		h.countGuided(out.Discarded)
		return
	}
	if out.Cannot != "" && !broke {
		h.fates[p.id] = fate{what: WasInfeasible, why: out.Discarded}
		return
	}
	h.fates[p.id] = fateOfRun(out.Discarded, broke)
}

func (h *Search) countGuided(discarded string) {
	if h.result.Guided++; discarded != "" {
		h.result.GuidedDiscarded++
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
			h.came(p.workload, st, false, out.Discarded)
		}
	}
}

// came counts that a trigger of a workload came, or did not. It is given up for as long as it is
// nearly certain that it comes in fewer than half of its runs: what comes now and then is worth
// its discarded runs.
func (h *Search) came(workload string, st scenarios.TriggeredFault, did bool, why string) {
	k := triggerKey(workload, st)
	r := h.rates[k]
	if r == nil {
		r = &Rate{}
		h.rates[k] = r
	}
	if r.take(did); !did {
		h.missed[k] = why
	}
	delete(h.infeasible, k)
	if _, high := r.oneSided(); high < worthTrying {
		h.infeasible[k] = h.whyMissed(k, workload, r)
	}
}

// whyMissed says why a trigger of a workload is tried no more, and how often it came.
func (h *Search) whyMissed(k, workload string, r *Rate) string {
	return fmt.Sprintf("%s in %q (came in %d of %d %s)", h.missed[k], workload, r.Hits, r.Runs, format.Noun(r.Runs, "run", "runs"))
}

func pendingKey(s Signature) string {
	return fmt.Sprintf("%s|%s|%t", s.alike(), strings.Join(s.Kinds, ","), s.InAcquire)
}

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
		if k == pendingKey(sig) || sig.byWhatever() && strings.HasPrefix(k, sig.alike()+"|") {
			return true
		}
	}
	return false
}
