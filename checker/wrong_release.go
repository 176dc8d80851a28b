package checker

import (
	"cmp"
	"fmt"
	"slices"

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
		refs := append(w.victim.evidenceAt(w.next.okT), w.evidence(&an.tokens)...)
		cause, words, more := w.otherwise()
		refs = append(refs, more...)
		a := Anomaly{
			Key: w.next.lock.name, Time: w.next.okT, Cause: cause,
			Grants: []string{w.by.id, w.victim.id, w.next.id}, Events: an.evidence.at(append(refs, w.next.ok)...),
			Sizes: map[string]int64{"remaining": left, "late": w.release.invT - w.victim.okT},
			Explanation: fmt.Sprintf("%s released at %s the lock that %s had been granted %s before, and the service agreed: %s by %s, while %s's lease certainly had %s left",
				w.by.process, format.Instant(w.release.invT), w.victim.process, dur(w.release.invT-w.victim.okT),
				w.next.got(), format.Instant(w.next.okT), w.victim.process, dur(left)) + w.release.secondWords() + words,
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
		Events: an.evidence.at(append(w.evidence(&an.tokens), w.victim.ok, w.next.ok)...),
		Sizes:  map[string]int64{"late": w.release.invT - w.victim.okT},
		Explanation: fmt.Sprintf("%s released at %s the lock that %s had been granted %s before, and the service agreed: %s by %s, while %s still held it",
			w.by.process, format.Instant(w.release.invT), w.victim.process, dur(w.release.invT-w.victim.okT), w.next.got(), format.Instant(w.next.okT), w.victim.process) + w.release.secondWords(),
	}
	return an.evidence.finish(a, w.by.okT, an.suspects.released(w), w.by.process, w.victim.process, w.next.process)
}

// renewedLate is the cause of a wrong release that a late renewal of the same client may have made a right one.
const renewedLate = "renewed-late"

// otherwise is the cause, in words and with its events, if the release need not have been one that does not look at the owner.
func (w *wrongRelease) otherwise() (cause, words string, refs []int32) {
	s := w.lateRenewal()
	switch {
	case s == nil && w.mayBeRenewed():
		return renewedLate, fmt.Sprintf("; %s's library renews the lock by itself: a renewal that came late may have taken the lock back in between", w.by.process), []int32{w.by.ok}
	case s == nil:
		return "", "", nil
	}
	return renewedLate, fmt.Sprintf("; %s's renewal, which was sent at %s and refused at %s, may have been carried out in between",
		w.by.process, format.Instant(s.invT), format.Instant(s.endT)), s.refs()
}

// mayBeRenewed says that the library of the client that released promises to renew the lock by itself until it is given back, and that neither had happened yet when
// the victim was granted it: no release, and no report of the loss. A history has only such renewals that the library reported.
func (w *wrongRelease) mayBeRenewed() bool {
	return w.by.watchdog && !w.release.isSecond() && w.by.lostT > w.victim.lo
}

// lateRenewal is the last renewal of the released grant that the lock had refused by then, if it may have been carried out after the
// victim's grant: one that writes whatever is there takes the lock back. nil for none. A bound keeps a hostile history from making this quadratic.
func (w *wrongRelease) lateRenewal() *statement {
	list := w.by.lock.denials
	n, _ := slices.BinarySearchFunc(list, w.release.invT, func(s *statement, t int64) int { return cmp.Or(cmp.Compare(s.endT, t), -1) })
	for _, s := range slices.Backward(list[max(0, n-maxBetween):n]) {
		if s.g == w.by && s.f == fRenew && s.endT > w.victim.lo {
			return s
		}
	}
	return nil
}

// evidence lists the events that show that a release was of a grant no longer in force, and older than the victim's.
func (w *wrongRelease) evidence(t *tokens) []int32 {
	return append(w.release.evidence(), w.by.ok, w.next.loEvidence(), t.orderEvidence(w.by, w.victim))
}

// evidence lists the events of a release, with the answer to the first one of its grant if only that had ended the grant, or with its request if it had no answer.
func (o *op) evidence() []int32 {
	refs := []int32{o.inv, o.comp}
	if g := o.grant; o.again() && (g.hasNoLease() || g.mayLast(o.invT)) {
		refs = append(refs, g.release.comp)
	} else if o.isSecond() && g.mayLast(o.invT) {
		refs = append(refs, g.release.inv)
	}
	return refs
}

// foreignWords say of a release that it came between two grants, and was of an earlier one.
func (o *op) foreignWords() string {
	what := "had released what it was granted before"
	if o.isSecond() {
		what = "had released a second time what it was granted before"
	}
	return fmt.Sprintf("; in between, at %s, %s %s, and the service agreed", format.Instant(o.invT), o.process, what)
}

// secondWords say of a release that its client had released the grant before; "" if it had not.
func (o *op) secondWords() string {
	switch {
	case o.again():
		return fmt.Sprintf("; it was the second release of %s's grant, which it had given back at %s", o.process, format.Instant(o.grant.release.endT))
	case o.isSecond():
		return fmt.Sprintf("; it was the second release of %s's grant: the first one, sent at %s, has no known outcome", o.process, format.Instant(o.grant.release.invT))
	}
	return ""
}

// isSecond says of a release that its client had been answered to another one of the same grant before, or nobody knows what came of that one.
func (o *op) isSecond() bool {
	first := o.grant.release
	return o.again() || first != nil && first != o && first.typ == tInfo && first.invT < o.invT
}
