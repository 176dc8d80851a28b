package checker

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["granted-early"] = findGrantedEarly }

// grantedEarly is the cause of an early grant that nothing explains better.
const grantedEarly = "granted-early"

func findGrantedEarly(an *analysis) []Anomaly {
	var out []Anomaly
	requests := sync.OnceValue(func() *requestTimes { return newRequestTimes(an.locks, an.faults) })
	alike := sync.OnceValue(func() *alikeLocks { return newAlikeLocks(an.locks) })
	first := map[*grant]firstEarly{}
	for e := range inTime(an.limit, an.overlaps.early) {
		older := e.older[0]
		c := &earlyCase{earlyPair: e, an: an, requests: requests, alike: alike, blame: an.suspects.early[e.newer]}
		c.before, c.gone = first[older]
		c.measure()
		c.describe()
		c.explain()
		if !c.gone && !e.renewed {
			first[older] = firstEarly{e.newer, c.a.Cause, slices.Clone(c.refs)}
		}
		c.addReleases()
		out = append(out, c.anomaly())
	}
	return out
}

// earlyCase is a grant that came while an older lease had time left, and the anomaly that is made of it.
type earlyCase struct {
	earlyPair
	an       *analysis
	a        Anomaly
	refs     []int32 // the events that show it
	blame    blamed
	before   firstEarly // who was granted the lock first while the older lease had time left
	gone     bool       // there is such a grant
	requests func() *requestTimes
	alike    func() *alikeLocks
}

// measure sets what is known of every such grant.
func (c *earlyCase) measure() {
	older := c.older[0]
	c.a = Anomaly{Key: c.newer.lock.name, Time: c.from, Cause: grantedEarly, Sizes: map[string]int64{}}
	for _, g := range c.older {
		c.a.Grants = append(c.a.Grants, g.id)
		c.a.Processes = append(c.a.Processes, g.process)
	}
	c.a.Grants = append(c.a.Grants, c.newer.id)
	c.a.Sizes["remaining"] = older.leaseLeft(c.from)
	if older.lease > 0 {
		c.a.Sizes["lease"] = older.lease
	}
	if asked := (meeting{c.older, c.newer, c.from}).early().Asked; asked > 0 && !c.renewed {
		c.a.Sizes["asked_before"] = asked
	}
	if n := older.renewed.before(c.from); n > 0 {
		c.a.Sizes["since_renewal"] = c.from - older.renewals()[n-1].okT
	}
}

// describe says what happened, and lists the events that show it. It names a cause where what happened is one.
func (c *earlyCase) describe() {
	older, newer := c.older[0], c.newer
	switch {
	case !newer.lock.mutex():
		c.refs = append(c.refs, explainCrowd(c.earlyPair, &c.a)...)
	case c.covered:
		others := ""
		if c.a.More = c.more; c.n() > crowdAll {
			others = fmt.Sprintf(", and after it %d more, each begun before the one before it had ended,", c.n()-1)
		}
		c.a.Explanation = fmt.Sprintf("%s %s between %s and %s, while %s's %s%s certainly had time left throughout",
			newer.process, newer.wasGranted(), format.Instant(newer.givenWithin().from), format.Instant(newer.okT), older.process, older.claim(), others)
		c.refs = append(c.refs, coverEvidence(c.earlyPair)...)
	case c.renewed:
		cause, what, unsure := newer.renewedEarly(c.from)
		c.a.Cause = cause
		c.a.Explanation = fmt.Sprintf("%s by %s, %s", what, format.Instant(c.from), c.while())
		c.refs = slices.Concat(older.evidenceAt(c.from), newer.evidenceAt(c.from), unsure, newer.shorterEvidence(c.from))
	default:
		c.a.Sizes["overlap"] = min(older.aliveUntil(c.from), newer.aliveUntil(c.from)) - c.from
		stopped, words := c.an.faults.stoppedFor(older, c.from)
		if stopped > 0 {
			c.a.Sizes["stopped"] = stopped
		}
		c.a.Explanation = fmt.Sprintf("%s %s by %s, %s%s", newer.process, newer.wasGranted(), format.Instant(c.from), c.while(), words)
		c.refs = append(older.evidenceAt(c.from), newer.evidenceAt(c.from)...)
		if w := newer.givenWithin(); len(newer.evidenceAt(c.from)) > 1 && older.aliveOver(w.from, w.to) && !older.startsAt(w.from) {
			// How long newer held does not matter: it had nowhere to begin.
			c.refs, c.covered = coverEvidence(c.earlyPair), true
		}
	}
}

// while says how old the older lease was, and how much of it was left.
func (c *earlyCase) while() string {
	older, again := c.older[0], ""
	if ago, ok := c.a.Sizes["since_renewal"]; ok {
		again = " and renewed " + dur(ago)
	}
	return fmt.Sprintf("while %s's %s, granted %s%s earlier, %s", older.process, older.claim(), dur(c.from-older.okT), again, older.leftWords(c.from))
}

// wasGranted says what the client was granted: "was granted token 7".
func (g *grant) wasGranted() string {
	if g.token != 0 {
		return fmt.Sprintf("was granted token %d", g.token)
	}
	return "was granted the lock"
}

// addReleases names the release of what had ended that freed the lock, or that another client's request took for its own. It explains the grant whatever
// else does.
func (c *earlyCase) addReleases() {
	if w := c.an.overlaps.wrong.found[c.newer]; w != nil {
		c.add(reason{
			cause: "wrong-release", refs: w.evidence(&c.an.tokens),
			words: fmt.Sprintf("; %s had released at %s a lock that it no longer held", w.by.process, format.Instant(w.release.invT)),
		})
	}
	if f, ok := c.an.freeing[c.newer]; ok {
		c.add(reason{cause: f.cause(), words: f.words(c.newer, c.older[0].process), refs: f.evidence(c.newer)})
	}
}

// anomaly is what was found.
func (c *earlyCase) anomaly() Anomaly {
	from := c.newer.okT
	for _, g := range c.older {
		from = min(from, g.okT)
		c.refs = c.an.tokens.believe(c.refs, g, c.newer)
	}
	c.a.Events = c.an.evidence.at(c.refs...)
	return c.an.evidence.finish(c.a, from, c.blame, c.newer.process)
}

// renewedEarly is the cause, and what happened, where the renewal that was answered at t met another
// client's lease; and the events that show why the lease need not have ended before.
func (g *grant) renewedEarly(t int64) (cause, what string, unsure []int32) {
	over, why := g.overAt(t - 1)
	if over {
		return "renewed-early", g.process + "'s lease had ended and was renewed", nil
	}
	return grantedEarly, g.process + "'s lease, which may have ended, was renewed", g.unbroken(why, t)
}

// lasting is why a lease need not have ended: a grant of its hold that lasts long enough, or longest, by its last renewal if it took one,
// and what may have renewed it.
type lasting struct {
	of    *grant
	by    *renewal
	asked []*op
}

// unbroken lists the events of it, and those without which there would seem to be a gap before it; of the grant itself
// nothing but its renewal. t is when the lease met the other client's.
func (g *grant) unbroken(why lasting, t int64) []int32 {
	var refs []int32
	switch {
	case why.by != nil:
		refs = append(why.of.evidenceOver(why.of.okT, why.by.okT-1), why.by.ok)
	case why.of != g:
		refs = append(refs, why.of.ok)
		refs = append(refs, why.of.shortenedBefore(t)...) // else it would still have the lock
	}
	for _, o := range why.asked {
		if refs = append(refs, o.inv); o.f == fRenew {
			refs = append(refs, o.comp) // else the renewal's answer may seem to be that of this one
		}
	}
	return refs
}

// overAt says that the lease had certainly ended before the first renewal that was answered after t
// was carried out, however late it had begun; if not, why. A
// bound keeps a hostile history from making this quadratic.
func (g *grant) overAt(t int64) (over bool, why lasting) {
	at, list, n := t, g.renewals(), g.renewed.before(t)
	if n < len(list) {
		at = list[n].heldUntil
	}
	end, why := satAdd(g.okT, g.lease), lasting{of: g}
	if end > at {
		return false, why
	}
	for _, h := range g.lock.inHoldOf(g) { // each may begin the lease of them all anew
		if until := satAdd(h.okT, h.lease); h.lo < at && until > end {
			end, why = until, lasting{of: h}
		}
		if end > at { // what lasts longer still is not needed
			return false, why
		}
		n := h.renewed.before(t)
		for i := max(0, n-maxBetween); i < n; i++ {
			r := &h.renewals()[i]
			if until := satAdd(r.okT, r.until-r.heldUntil); until > end {
				end, why = until, lasting{of: h, by: r}
			}
			if end > at {
				return false, why
			}
		}
	}
	if end <= at {
		why.asked = g.ofHold().maybeRenewedFrom(end, at)
	}
	return end <= at && why.asked == nil, why
}

// claim names what the grant gave: "lease on token 33".
func (g *grant) claim() string {
	c := "lease"
	if g.lease == 0 {
		c = "hold"
	}
	if g.token != 0 {
		c += fmt.Sprintf(" on token %d", g.token)
	}
	return c
}

// believe adds to the evidence of g's lease the promise, or the renewals of unknown outcome, without which the service's
// later word for g would be what is false, and not that newer was granted (see succeeds).
func (t *tokens) believe(refs []int32, g, newer *grant) []int32 {
	if !g.lock.mutex() { // of which no word is shown false
		return refs
	}
	at := newer.okT
	if g.grantedBeyond(at) || g.beganLate(at) || !t.certainlyOlder(g, newer) {
		return refs
	}
	var more []int32
	if r := g.renewed.askedBeyond(at); r != nil {
		more = append(more, r.ok)
	} else {
		for _, o := range g.maybeRenewed(at) {
			more = append(more, o.inv)
		}
	}
	if slices.ContainsFunc(refs, func(ref int32) bool { return g.claimedAfter(at, ref) }) {
		return append(refs, more...)
	}
	return refs
}

// claimedAfter says that the event ref answers a request that was sent after t, and says that
// g had been in force until then.
func (g *grant) claimedAfter(t int64, ref int32) bool {
	if r := g.release; g.releaseHeld() && r.comp == ref {
		return r.invT > t
	}
	list := g.renewals()
	i, found := slices.BinarySearchFunc(list, ref, func(r renewal, ref int32) int { return cmp.Compare(r.ok, ref) })
	return found && list[i].held && list[i].heldUntil > t
}

// coverEvidence lists the events that show the window of e.newer covered.
func coverEvidence(e earlyPair) []int32 {
	w := e.newer.givenWithin()
	refs := []int32{e.newer.ok}
	if w.from == e.newer.lo {
		refs = append(refs, e.newer.loEvidence())
	}
	at := w.from - 1            // newer can lie just before a lease that begins at w.from
	for _, g := range e.older { // each reaches past where the one before ended
		until := g.aliveUntil(at)
		refs = append(refs, g.evidenceOver(at, min(until-1, w.to))...)
		at = until
	}
	return refs
}
