package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["false-loss"] = findFalseLosses }

// findFalseLosses finds what told a client that its grant was lost, although the lock confirmed afterwards that the client
// had held it all the time. One of the two is false. A library may be cautious, so what it says when half of the lease is
// over, or after a fault, does not count.
func findFalseLosses(an *analysis) []Anomaly {
	var out []Anomaly
	for _, s := range an.denials(an.falseLoss) {
		out = append(out, reportFalseLoss(an, s))
	}
	return out
}

// denials are, of each grant of a lock that cannot be entered again, the first statement that denies it and fits.
func (an *analysis) denials(fits func(*statement) bool) []*statement {
	var out []*statement
	for _, k := range an.locks {
		if k.nested || k.capacity() == nil {
			continue
		}
		of := map[*grant]bool{}
		for s := range inTime(an.limit, k.denials) {
			if !of[s.g] && fits(s) {
				of[s.g] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// falseLoss says that a statement is false, or else the confirmation after it.
func (an *analysis) falseLoss(s *statement) bool {
	return s.refuted() && s.hasty() && !an.excusedByAny(s) && !an.takenBy(s)
}

// left is what the lease that had been promised when it was asked for had left when the statement was made.
func (s *statement) left() int64 {
	return min(s.g.promisedBy(s.invT), s.g.shortenedAt(s.endT)) - s.endT
}

// refuted says that the lock confirmed a release which the client sent after the statement, and which cannot have been of a
// later grant.
func (s *statement) refuted() bool {
	g := s.g
	if s.late() || s.f == fRelease || !g.releaseHeld() || g.release.invT <= s.endT {
		return false
	}
	return g.anew == nil || g.anew.lo > g.release.endT
}

// knownLeft is what was left of the lease by what the library must have known: a renewal may have been answered while the
// statement was on its way. A quarter of the lease is enough for a library on a busy machine.
func (s *statement) knownLeft() int64 {
	return min(s.g.promisedBy(max(s.g.okT, s.invT-s.g.lease/4)), s.g.shortenedAt(s.endT)) - s.endT
}

// cautious is the most that a lease may have left if caution makes a library give it up: half of it, and a twentieth, since the
// library may count from earlier than its request. It renews when a third is over, and could ask again.
func (g *grant) cautious() int64 { return g.lease/2 + g.lease/20 }

// hasty says that no caution makes a library give up the lease. A grant without a lease belongs to a session, and what that
// suffers no record shows.
func (s *statement) hasty() bool { return s.g.lease > 0 && s.knownLeft() > s.g.cautious() }

// excusedByAny says that a fault, confirmed or not, was on its client or the service since the grant, or was felt then.
func (an *analysis) excusedByAny(s *statement) bool {
	return an.faults.harmFrom(s.g, s.g.lo) <= s.endT
}

func reportFalseLoss(an *analysis, s *statement) Anomaly {
	g, left := s.g, s.knownLeft()
	r := g.release
	a := Anomaly{
		Key: g.lock.name, Time: s.endT, Cause: causeOfDenial(s.f), Grants: []string{g.id},
		Events: an.evidence.at(append(s.refs(), g.ok, g.promiseEvidence(s.endT+g.cautious()), r.inv, r.comp)...),
		Sizes:  map[string]int64{"remaining": left, "lease": g.lease},
		Explanation: fmt.Sprintf("%s, while its lease certainly had %s left; the release that %s sent at %s was confirmed: it had held the lock until then",
			s.denialWords(), dur(left), g.process, format.Instant(r.invT)),
	}
	return an.evidence.finish(a, g.okT, blamed{}, g.process)
}

// causeOfDenial is what told the client of the loss.
func causeOfDenial(f verb) string {
	switch f {
	case fRenew:
		return "not-extended"
	case fHolds:
		return "not-held"
	}
	return "noticed"
}

// denialWords say what denied the grant, and when.
func (s *statement) denialWords() string {
	text := "the lock answered %s at %s that it no longer holds the lock"
	if s.f == fNone {
		text = "its library reported to %s at %s that the lock was lost"
	}
	return fmt.Sprintf(text, s.g.process, format.Instant(s.endT)) + s.g.with()
}
