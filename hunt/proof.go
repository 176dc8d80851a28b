package hunt

import (
	"slices"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
)

// Proof is what one play showed of a counterexample: what is needed to draw it.
type Proof struct {
	Anomaly verdict.Anomaly `json:"anomaly"`
	Events  []history.Event `json:"events"`
	LeftOut int             `json:"left_out,omitempty"` // events before the first and after the last
}

// maxProof bounds the events of a proof.
const maxProof = 400

// proofOf takes from a play what proves a signature; nil if it does not.
func proofOf(out *Outcome, sig Signature) *Proof {
	for _, g := range out.Verdict.Groups() {
		if g.Name == sig.Anomaly && g.Cause == sig.Cause || sig.Anomaly == LateWrite && late(g) {
			p := &Proof{Anomaly: out.Verdict.Anomalies[g.First], Events: out.Events}
			if p.LeftOut = len(out.Events) - maxProof; p.LeftOut <= 0 {
				p.LeftOut = 0
				return p
			}
			// What went before the harm tells more than what came after it.
			end := slices.IndexFunc(out.Events, func(e history.Event) bool { return e.Time > p.Anomaly.Time })
			if end < 0 {
				end = len(out.Events)
			}
			from := min(max(0, end-maxProof*3/4), len(out.Events)-maxProof)
			p.Events = out.Events[from : from+maxProof]
			return p
		}
	}
	return nil
}
