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

// maxEvidence bounds the events of evidence.
const maxEvidence = 400

// evidenceOf takes from a run what proves a signature; nil if it does not.
func evidenceOf(out *Outcome, sig Signature) *Evidence {
	for _, g := range out.Verdict.Groups() {
		if sig.of(g) {
			p := &Evidence{Anomaly: out.Verdict.Anomalies[g.First], Events: out.Events}
			if p.LeftOut = len(out.Events) - maxEvidence; p.LeftOut <= 0 {
				p.LeftOut = 0
				return p
			}
			// What went before the harm tells more than what came after it.
			end := slices.IndexFunc(out.Events, func(e history.Event) bool { return e.Time > p.Anomaly.Time })
			if end < 0 {
				end = len(out.Events)
			}
			from := min(max(0, end-maxEvidence*3/4), len(out.Events)-maxEvidence)
			p.Events = out.Events[from : from+maxEvidence]
			return p
		}
	}
	return nil
}
