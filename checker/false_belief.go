package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["false-belief"] = findFalseBeliefs }

// findFalseBeliefs finds answers by which the lock told a client that it holds the lock, or
// that it had held it until then, although it had granted the lock to another client in between.
// The request of the answer was sent after that grant was known, and after the older one's lease had ended or its client
// had given it back. Whatever happened inside the
// service, one of the two is false. A grant that the service ought not to have given is left to
// the anomalies that are about grants.
func findFalseBeliefs(an *analysis) []Anomaly {
	wronged := an.overlaps.wronged()
	var out []Anomaly
	for _, k := range an.locks {
		if !k.mutex() {
			continue
		}
		told := map[*grant]bool{}
		for s := range inTime(an.limit, k.claims) {
			next := an.tokens.disproves(s)
			if next == nil || s.anew || told[s.g] || s.g.hasNoLease() && wronged[next] {
				continue
			}
			told[s.g] = true
			out = append(out, falseBelief(an, s, next))
		}
	}
	return out
}

// disproves is the grant to another client that shows a claim false; nil for none.
func (t *tokens) disproves(s *statement) *grant {
	if s.g.hasNoLease() && s.f != fHolds {
		return nil // the service's word makes the newer grant early
	}
	n := t.succeeds(s.g, s.invT)
	if n == nil && s.givenBack() {
		for n = range t.between(s.g, s.invT) {
			break
		}
	}
	return n
}

// givenBack says that the client had asked for the release of the grant before it asked for the statement, which was not refused: either that was carried out
// and ended the lease, or the lease went on, and nobody else could be granted the lock. An entry of a hold, and a downgrade, end nothing. Nor is it said if the client
// may have been granted the lock anew.
func (s *statement) givenBack() bool {
	g, r := s.g, s.g.release
	return r != nil && r.invT < s.invT && r.maybeDone() && !r.downgrades && !g.lock.nested && !g.lock.unknownBefore(g.process, s.endT)
}

// mayDisprove says that a confirmation of a lease would be shown false, or freed, if clocks that are apart were shifted
// in some way. By those clocks nothing rests on it then. More than a bound of grants are not looked at: they may.
func (t *tokens) mayDisprove(s *statement) bool {
	g, slack := s.g, 2*s.g.lock.margin
	if slack == 0 || s.f == fHolds || g.hasNoLease() {
		return false
	}
	list := g.lock.grants
	from, _ := slices.BinarySearchFunc(list, g.okT-slack, func(n *grant, at int64) int { return cmp.Or(cmp.Compare(n.okT, at), 1) })
	for i, n := range list[from:] {
		if n.okT >= s.invT+slack {
			break
		}
		if i == maxBetween || n.process != g.process && !t.certainlyOlder(n, g) && g.promisedBy(n.okT-slack) <= n.okT {
			return true
		}
	}
	return false
}

// freed says that a confirmed release probably freed another client's grant, which was given before the
// release was sent, and had time left when a third grant was given after it, without a fault of the service. What
// was released was over by its promise, which its client had learnt of in time, although it may have begun
// late. If the answer is false, that explains both newer grants; if it is true, both were given early.
func (an *analysis) freed(s *statement) bool {
	if g := s.g; s.f != fRelease || g.hasNoLease() || g.promisedBy(g.okT) <= g.okT { // its time is that of a request which was not granted
		return false
	}
	for n := range an.tokens.between(s.g, s.invT) {
		if s.g.promisedAt(n.okT) > n.okT {
			continue
		}
		for third := range an.tokens.between(n, min(n.promisedBy(n.okT), n.endsItself())) {
			if third != s.g && third.okT > s.invT && !an.faults.mayDrop(n, third.okT, nil) {
				return true
			}
		}
	}
	return false
}

// endsItself is when the grant's client asked for its release or learnt of its loss.
func (g *grant) endsItself() int64 {
	if r := g.release; r != nil {
		return min(g.lostT, r.invT)
	}
	return g.lostT
}

// dropFalseConfirmations has the leases of a lock end when they do without the confirmations that
// are shown false, or are probably false (freed). Such an answer is what is wrong, and makes no other grant early.
func (an *analysis) dropFalseConfirmations(k *lock) {
	var grants []*grant
	answers := map[int32]bool{}
	for _, s := range k.claims {
		if s.f != fHolds && an.tokens.disproves(s) != nil || an.freed(s) || an.tokens.mayDisprove(s) {
			grants, answers[s.comp] = append(grants, s.g), true
		}
	}
	slices.SortFunc(grants, func(a, b *grant) int { return cmp.Compare(a.n, b.n) })
	for _, g := range slices.Compact(grants) {
		g.unconfirm(answers)
		g.findAlive()
	}
}

// wronged lists the grants that the service ought not to have given while another client held the lock
// without a lease. Only of such a hold the service's later word makes them so, for whomever it is.
func (o *overlaps) wronged() map[*grant]bool {
	out := map[*grant]bool{}
	add := func(c crowd, newer *grant) {
		for _, g := range c.older {
			if g.hasNoLease() {
				out[newer] = true
			}
		}
	}
	for _, d := range o.doubles {
		add(d.crowd, d.newer)
	}
	for _, e := range o.early {
		add(e.crowd, e.newer)
	}
	return out
}

func falseBelief(an *analysis, s *statement, next *grant) Anomaly {
	g := s.g
	refs := append(s.refs(), g.ok, next.ok, an.tokens.orderEvidence(g, next))
	a := Anomaly{
		Key: g.lock.name, Time: s.endT, Cause: causeOfClaim(s.f), Grants: []string{g.id, next.id}, Events: an.evidence.at(refs...),
		Sizes: map[string]int64{"late": s.invT - next.okT},
		Explanation: fmt.Sprintf("the lock answered %s at %s that %s%s, %s after %s by %s",
			g.process, format.Instant(s.endT), claimWords(s.f), g.with(), dur(s.endT-next.okT), next.got(), format.Instant(next.okT)),
	}
	switch {
	case !next.aliveOver(s.invT, s.endT):
	case next.hasNoLease():
		a.Explanation += ", who still held it"
	default:
		a.Explanation += fmt.Sprintf(", whose lease certainly had time left (%s)", dur(next.leaseLeft(s.endT)))
	}
	switch end := g.promisedBy(next.okT); {
	case g.mayLast(next.okT) && s.givenBack():
		a.Explanation += fmt.Sprintf("; it had sent the lock's release at %s", format.Instant(g.release.invT))
		a.Events = an.evidence.at(append(refs, g.release.inv)...)
	case end > 0:
		a.Explanation += fmt.Sprintf("; what it had been promised until then was over %s before", dur(s.endT-end))
	}
	since := s.invT
	if g.hasNoLease() {
		since = g.okT // what ended the hold, as the end of its session, has a part in the answer
	}
	return an.evidence.finish(a, g.okT, an.suspects.touched(&stake{
		service: interval{next.lo, s.endT}, parties: []party{{g.process, interval{since, s.endT}}},
	}), g.process, next.process)
}

// causeOfClaim is how the answer to a request came to be false.
func causeOfClaim(f verb) string {
	switch f {
	case fRenew:
		return "extended"
	case fRelease:
		return "released"
	}
	return "held"
}

// claimWords is what the answer to a request claims.
func claimWords(f verb) string {
	switch f {
	case fRenew:
		return "its lease was extended"
	case fRelease:
		return "it had held the lock until its release"
	}
	return "it holds the lock"
}
