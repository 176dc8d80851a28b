package checker

import (
	"cmp"
	"iter"
	"slices"

	"github.com/picklock/picklock/history"
)

// statement is what the lock said of a grant to the client that was given it.
type statement struct {
	g          *grant
	f          verb  // what was asked for; fNone for a notice that nobody asked for
	inv, comp  int32 // inv -1 where the request is not in the history
	invT, endT int64 // the request was sent, and answered; of what the library asked by itself, too
	anew       bool  // its client had asked for the lock again, and may have been answered of that
}

// hear files what an answer says of a grant. o is its request, nil for one that the client library
// made by itself.
func (r *reader) hear(i int32, t int64, f verb, e *history.Event, g *grant, o *op) {
	s := statement{g: g, f: f, inv: -1, comp: i, invT: t, endT: t}
	switch {
	case f == fRenew && e.Type == history.OK && e.Lease > 0:
		// The answer itself says when it was asked for. A keepalive's may have been taken for that of
		// an open renew.
		if s.invT = sane(e.Since, t); o != nil {
			s.invT = min(s.invT, o.invT)
		}
	case o != nil:
		s.inv, s.invT = o.inv, o.invT
	default:
		return // nothing says when it was asked
	}
	k := g.lock
	switch {
	case claims(f, e):
		// What comes before any other grant is as it should be, and need not be kept.
		if k.grants[len(k.grants)-1] != g {
			s.anew = g.askedAgain
			k.claims = append(k.claims, &s)
		}
	case denies(f, e):
		if !g.askedAgain {
			k.denials = append(k.denials, &s)
		}
		if f != fRelease { // which has ended what its client believes already
			r.learnLoss(g, i, t)
		}
	}
}

// claims says that the answer to a request f states that the client holds the lock.
func claims(f verb, e *history.Event) bool {
	return e.Type == history.OK && (f == fRenew || e.Held && (f == fHolds || f == fRelease))
}

// denies says that it states that the client does not.
func denies(f verb, e *history.Event) bool {
	return e.NotHeld && (e.Type == history.Fail && (f == fRenew || f == fRelease) || e.Type == history.OK && f == fHolds)
}

// learnLoss notes that the client of a grant has learnt that it is gone.
func (r *reader) learnLoss(g *grant, i int32, t int64) {
	if t < g.lostT {
		g.lost, g.lostT = i, t
		r.endBelief(g, t)
	}
}

// refs are the events of the statement.
func (s *statement) refs() []int32 { return []int32{s.inv, s.comp} }

// promisedBy is until when the grant's lease was promised by what had been answered by t; 0 for no
// promise.
func (g *grant) promisedBy(t int64) int64 {
	until := int64(0)
	if g.lease > 0 && g.okT <= t {
		until = satAdd(g.since, g.lease)
	}
	if n := g.renewed.before(t); n > 0 {
		until = max(until, g.renewed.reach[n-1])
	}
	return until
}

// promisedAt is promisedBy with what had been asked by t and was promised later.
func (g *grant) promisedAt(t int64) int64 {
	until, n := g.promisedBy(t), g.renewed.before(t)
	for _, r := range g.renewals()[n:min(len(g.renewals()), n+maxBetween)] {
		if r.heldUntil <= t {
			until = max(until, r.until)
		}
	}
	return until
}

// succeeds is the first grant to another client that was certainly given after g, was answered
// before by, and at whose answer g was over by what it had been promised; nil if there is none.
func (t *tokens) succeeds(g *grant, by int64) *grant {
	for n := range t.between(g, by) {
		if !g.mayLast(n.okT) {
			return n
		}
	}
	return nil
}

// between yields the grants to other clients that were certainly given after g and answered before by.
// A bound keeps a hostile history from making this quadratic.
func (t *tokens) between(g *grant, by int64) iter.Seq[*grant] {
	list := g.lock.grants
	from, _ := slices.BinarySearchFunc(list, g.okT, func(n *grant, at int64) int { return cmp.Or(cmp.Compare(n.okT, at), -1) })
	return func(yield func(*grant) bool) {
		for _, n := range list[from:min(len(list), from+maxBetween)] {
			if n.okT >= by || n.process != g.process && t.certainlyOlder(g, n) && !yield(n) {
				return
			}
		}
	}
}

// mayLast says that the lease may have had time left at t. By clocks that are apart it began as late as it can have.
func (g *grant) mayLast(t int64) bool {
	at := t - 2*g.lock.margin
	return g.promisedAt(t) > at || g.beganLate(at) || len(g.maybeRenewed(t)) > 0
}

// maybeRenewed lists renewals of unknown outcome that may have had the lease last beyond t, if each did what it was
// asked for; nil for none.
func (g *grant) maybeRenewed(t int64) []*op {
	if g.unsure == nil {
		return nil
	}
	return g.maybeRenewedFrom(max(g.promisedAt(t), g.latestEnd()), t)
}

// maybeRenewedFrom is maybeRenewed of a lease that lasts until some time without them. A bound keeps a hostile history
// from making this quadratic.
func (g *grant) maybeRenewedFrom(until, t int64) []*op {
	if g.unsure == nil {
		return nil
	}
	list := (*g.unsure)[max(0, len(*g.unsure)-maxBetween):]
	for i, o := range list {
		if o.invT >= min(t, until) {
			return nil
		}
		if until = satAdd(until, g.lease); until > t-2*g.lock.margin {
			return list[:i+1]
		}
	}
	return nil
}

// beganLate says that the lease may have lasted beyond t without a renewal, since its client learnt of
// it only after a tenth of it: since tells little of when it began, which may have been just before.
func (g *grant) beganLate(t int64) bool { return g.latestEnd() > t }

// latestEnd is when a lease that began late ended at the latest, without a renewal; 0 if it did not begin late. An entry may be promised what is left of the lease
// that its hold began with.
func (g *grant) latestEnd() int64 {
	g = g.leasedBy()
	if !g.knownLate() {
		return 0
	}
	return satAdd(g.okT, g.lease)
}

// knownLate says that a client learnt of its lease only after a tenth of it.
func (g *grant) knownLate() bool { return g.lease > 0 && 10*(g.okT-g.since) > g.lease }

// leasedBy is the grant with which the lease of an entry began, if it was promised no other one than its hold had; else it is itself.
func (g *grant) leasedBy() *grant {
	if first := g.first; first != nil && first.since == g.since && first.lease == g.lease {
		return first
	}
	return g
}

// maxBetween is how many grants are looked at.
const maxBetween = 64
