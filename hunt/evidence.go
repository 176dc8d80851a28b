package hunt

import (
	"slices"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
)

// Evidence is what one run showed of a counterexample: what is needed to draw it.
type Evidence struct {
	Anomaly verdict.Anomaly `json:"anomaly"`
	Events  []history.Event `json:"events"`
	LeftOut int             `json:"left_out,omitempty"` // events before the first and after the last
}

// exposes says that the lock certainly told a lie, by confirming the release or the renewal of a grant that was over, and
// that the other evidence rests on such a word: a grant of it was in force only by that, as was known after the newest
// grant.
func (e *Evidence) exposes(o *Evidence) bool {
	if e == nil || o == nil || o.claimed() != "" || o.Anomaly.Property != verdict.Exclusion {
		return false
	}
	do := e.claimed()
	if _, ok := e.confirmed(do); !ok {
		return false
	}
	word, ok := o.confirmed(do)
	_, newest, met := o.victims()
	return ok && met && slices.ContainsFunc(o.Events, func(g history.Event) bool {
		return g.F == history.Acquire && g.Type == history.OK && g.Grant == newest && g.Time < word.Time
	})
}

// confirmed is the release or renewal that the anomaly needs, and of which the lock said that its client had held the lock: of a
// renewal by granting it.
func (e *Evidence) confirmed(do string) (history.Event, bool) {
	i := slices.IndexFunc(e.Events, func(r history.Event) bool {
		return r.F == do && (do == history.Release || do == history.Renew) && r.Type == history.OK && (r.Held || do == history.Renew) && slices.Contains(e.Anomaly.Events, r.Index)
	})
	if i < 0 {
		return history.Event{}, false
	}
	return e.Events[i], true
}

// showsLease says that a grant or a renewal of the evidence promises a lease.
func (e *Evidence) showsLease() bool {
	return e != nil && slices.ContainsFunc(e.Events, func(g history.Event) bool { return g.Lease > 0 })
}

// maxEvidence bounds the events of evidence.
const maxEvidence = 400

// evidenceOf takes from a run what proves a signature, with its very cause if the run tells it; nil if it does not.
func evidenceOf(out *Outcome, sig Signature) *Evidence {
	var found *Evidence
	for _, g := range out.Verdict.Groups() {
		if sig.of(g) && (found == nil || g.Cause == sig.Cause && found.Anomaly.Cause != sig.Cause) {
			found = cut(out.Events, out.Verdict.Anomalies[g.First])
		}
	}
	return found
}

// cut is the evidence of an anomaly, with no more events around it than are kept.
func cut(events []history.Event, a verdict.Anomaly) *Evidence {
	p := &Evidence{Anomaly: a, Events: events}
	if p.LeftOut = len(events) - maxEvidence; p.LeftOut <= 0 {
		p.LeftOut = 0
		return p
	}
	// What went before the harm tells more than what came after it.
	end := slices.IndexFunc(events, func(e history.Event) bool { return e.Time > a.Time })
	if end < 0 {
		end = len(events)
	}
	from := min(max(0, end-maxEvidence*3/4), len(events)-maxEvidence)
	p.Events = events[from : from+maxEvidence]
	return p
}
