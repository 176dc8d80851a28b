package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

func init() { finders["revoked-early"] = findRevocations }

// coarse is by how much a service may end a lease early that it counts in whole milliseconds.
const coarse = 2e6

// findRevocations finds leases that the service ended before their time without granting the lock, or the holder's permit, to
// another client: the lock answered its holder that it cannot renew it, since it no longer holds it. Other answers do not
// count: an answer to a holds may be the library's own, which gives up before the lease ends, and
// a release that is sent again finds what the first one left. A notice may be, too, but for one that comes too early for
// any caution (see hasty). Nothing may have been on that makes a client give up by itself (see excused).
func findRevocations(an *analysis) []Anomaly {
	var out []Anomaly
	for _, s := range an.denials(an.revoked) {
		out = append(out, revocation(an, s))
	}
	return out
}

// revoked says that a statement shows that the service ended the lease.
func (an *analysis) revoked(s *statement) bool {
	return an.tellsOfEnd(s) && !s.late() && !an.takenBy(s) && !an.falseLoss(s)
}

// tellsOfEnd says that only the end of the grant explains a statement, by which the lease had time left.
func (an *analysis) tellsOfEnd(s *statement) bool {
	switch s.f {
	case fRenew:
		return s.left() > coarse && !an.excused(s)
	case fNone:
		return s.hasty() && !an.excusedByAny(s)
	}
	return false
}

// late says that the client had given the grant back, or learnt of its loss, before it was answered.
func (s *statement) late() bool {
	r := s.g.release
	return r != nil && r.invT <= s.endT || s.g.lostT < s.endT
}

// takenBy says that another grant may have been given since the statement's own, with which the lock had no room for it.
func (an *analysis) takenBy(s *statement) bool {
	if s.g.lock.permits > 1 {
		return an.overfull(s.g.lock, s.g.lo, s.endT)
	}
	for n := range an.givenBy(s.g.lock).between(s.g.lo, s.endT) {
		if n == nil || n != s.g && !together(n, s.g) && !an.tokens.certainlyOlder(n, s.g) {
			return true
		}
	}
	return false
}

// excused says that something else explains the statement than the end of the grant. A client that is
// stopped, cut off or whose clock is set may give up by itself. A fault of the service excuses only
// while it was asked; its clock does not.
func (an *analysis) excused(s *statement) bool {
	g, faults := s.g, an.faults
	if faults.ownHarmFrom(g, g.lo) <= s.endT {
		return true
	}
	for _, f := range faults.general.latest(nil, g.lo, s.endT) {
		asking := f.overlaps(interval{s.invT, s.endT})
		if kind := baseName(f.name); kind == Stall || asking && kind != "clock" {
			return true
		}
	}
	return false
}

func revocation(an *analysis, s *statement) Anomaly {
	g, left, cause, tolerated := s.g, s.left(), "", int64(coarse)
	if s.f == fNone {
		cause, left, tolerated = causeOfDenial(s.f), s.knownLeft(), g.cautious()
	}
	a := Anomaly{
		Key: g.lock.name, Time: s.endT, Cause: cause, Grants: []string{g.id},
		Sizes: map[string]int64{"remaining": left},
		Explanation: fmt.Sprintf("%s, while its lease certainly had %s left; it had not released it, and %s%s",
			s.denialWords(), dur(left), g.keptWords(), s.unknownWords()),
	}
	if g.lease > 0 {
		a.Sizes["lease"] = g.lease
	}
	processes, refs := []string{g.process}, append(s.refs(), g.ok, g.promiseEvidence(s.endT+tolerated))
	why := an.suspects.revoked(s)
	if o := foreignRelease(s); o != nil && !together(o.grant, g) {
		a.Cause = "wrong-release"
		a.Explanation += o.foreignWords()
		processes = append(processes, o.process)
	} else if o, f := an.faults.delayed(g); o != nil && !together(o.grant, g) && why.suspect == nil {
		a.Cause = lateRelease
		a.Explanation += o.lateWords()
		processes, refs = append(processes, o.process), append(refs, o.inv, o.grant.ok)
		why = blameThird(f)
	} else if o := s.companionRelease(); o != nil && why.suspect == nil {
		a.Explanation += o.companionWords()
		processes = append(processes, o.process)
	}
	a.Events = an.evidence.at(refs...)
	return an.evidence.finish(a, g.okT, why, processes...)
}

// unknownWords name an acquire of another client of which nobody knows whether it was granted since.
func (s *statement) unknownWords() string {
	list := s.g.lock.unanswered // by invoke
	n, _ := slices.BinarySearchFunc(list, s.endT, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	for _, o := range slices.Backward(list[max(0, n-maxBetween):n]) {
		if o.process != s.g.process && o.endT > s.g.lo {
			return fmt.Sprintf(", as far as is known: the acquire that %s sent at %s has no known outcome", o.process, format.Instant(o.invT))
		}
	}
	return ""
}

// foreignRelease is the last release of another client that may have freed the grant; nil for none. The first release of
// a lease that may have lasted until then gave back what was its own, and let the grant's client in.
func foreignRelease(s *statement) *op {
	list := s.g.lock.released
	n, _ := slices.BinarySearchFunc(list, s.endT, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	for i := n - 1; i >= max(0, n-maxBetween); i-- {
		if o := list[i]; o.typ == tOK && o.process != s.g.process && o.endT > s.g.okT && !o.heldOK && o.grant != nil && (o.again() || o.grant.hasNoLease() || !o.grant.mayLast(o.invT)) {
			return o
		}
	}
	return nil
}

// companionRelease is the last confirmed release of a grant that the lock gave beside the statement's, since the service's last word on
// that; nil for none. It may have ended that grant with its own, or instead of it. Releases of others are usual, so it is no cause.
func (s *statement) companionRelease() *op {
	list := s.g.lock.released
	from := s.g.lastWord(s.invT)
	n, _ := slices.BinarySearchFunc(list, s.endT, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	for _, o := range slices.Backward(list[max(0, n-maxBetween):n]) {
		if o.typ == tOK && o.grant != nil && o.grant != s.g && o.endT > from && together(o.grant, s.g) {
			return o
		}
	}
	return nil
}

// companionWords say of a release that it was of another grant, which had its place beside.
func (o *op) companionWords() string {
	what := "its share"
	if o.lock.permits > 0 {
		what = "a permit"
	}
	return fmt.Sprintf("; in between, at %s, %s gave back %s, and the service agreed", format.Instant(o.invT), o.process, what)
}

// keptWords say that the lock had no reason to take the grant from its client.
func (g *grant) keptWords() string {
	switch {
	case g.lock.permits > 1:
		return fmt.Sprintf("the lock had room for it: no more than its %d permits were out", g.lock.permits)
	case g.mode == shared:
		return "no client was granted the lock for itself alone"
	}
	return "no other client was granted it"
}

// revoked is what is blamed for the early end of a lease: what was on the service since its last word
// on it.
func (s *suspects) revoked(told *statement) blamed {
	g := told.g
	b := blamed{parts: s.faults.parts(&stake{lock: true, service: interval{g.lastWord(told.invT), told.endT}, lease: g.lease, shortest: g.leaseLeft(told.endT)})}
	for i, p := range b.parts {
		if p.side == verdict.OnServer && (b.suspect == nil || rankEarly(p) < rankEarly(*b.suspect)) {
			b.suspect = &b.parts[i]
		}
	}
	return b
}
