package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["wrong-release"] = findWrongReleases }

// findWrongReleases reports what findWrong found.
func findWrongReleases(an *analysis) []Anomaly {
	wrong := an.overlaps.wrong.found
	var let []*grant // in by another client's release
	for _, e := range an.overlaps.early {
		let = append(let, e.newer)
	}
	for _, d := range an.overlaps.doubles {
		let = append(let, d.newer)
	}
	var out []Anomaly
	for g := range inTime(an.limit, let) {
		w := wrong[g]
		if w == nil {
			continue
		}
		if w.victim.hasNoLease() {
			out = append(out, wrongWithoutLease(an, w))
			continue
		}
		left := w.victim.leaseLeft(w.next.okT)
		refs := append(w.victim.evidenceAt(w.next.okT), w.by.ok, w.next.ok, w.release.inv, w.release.comp,
			w.next.loEvidence(), an.tokens.orderEvidence(w.by, w.victim))
		a := Anomaly{
			Key: w.next.lock.name, Time: w.next.okT,
			Grants: []string{w.by.id, w.victim.id, w.next.id}, Events: an.evidence.at(refs...),
			Sizes: map[string]int64{"remaining": left, "late": w.release.invT - w.victim.okT},
			Explanation: fmt.Sprintf("%s released at %s the lock that %s had been granted %s before, and the service agreed: %s by %s, while %s's lease certainly had %s left",
				w.by.process, format.Instant(w.release.invT), w.victim.process, dur(w.release.invT-w.victim.okT),
				w.next.got(), format.Instant(w.next.okT), w.victim.process, dur(left)),
		}
		out = append(out, an.evidence.finish(a, w.by.okT, an.suspects.released(w), w.by.process, w.victim.process, w.next.process))
	}
	return out
}

// wrongWithoutLease reports a victim that was promised no lease.
func wrongWithoutLease(an *analysis, w *wrongRelease) Anomaly {
	a := Anomaly{
		Key: w.next.lock.name, Time: w.next.okT,
		Grants: []string{w.by.id, w.victim.id, w.next.id},
		Events: an.evidence.at(w.victim.ok, w.by.ok, w.next.ok, w.release.inv, w.release.comp, w.next.loEvidence(), an.tokens.orderEvidence(w.by, w.victim)),
		Sizes:  map[string]int64{"late": w.release.invT - w.victim.okT},
		Explanation: fmt.Sprintf("%s released at %s the lock that %s had been granted %s before, and the service agreed: %s by %s, while %s still held it",
			w.by.process, format.Instant(w.release.invT), w.victim.process, dur(w.release.invT-w.victim.okT), w.next.got(), format.Instant(w.next.okT), w.victim.process),
	}
	return an.evidence.finish(a, w.by.okT, an.suspects.released(w), w.by.process, w.victim.process, w.next.process)
}
