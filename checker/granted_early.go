package checker

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["granted-early"] = findGrantedEarly }

func findGrantedEarly(an *analysis) []Anomaly {
	wrong := an.overlaps.wrong.found
	var out []Anomaly
	requests := sync.OnceValue(func() *requestTimes { return newRequestTimes(an.locks) })
	first := map[*grant]firstEarly{}
	for e := range inTime(an.limit, an.overlaps.early) {
		newer, older := e.newer, e.older[0]
		a := Anomaly{
			Key: newer.lock.name, Time: e.from,
			Cause: "granted-early", Sizes: map[string]int64{},
		}
		var refs []int32
		from := newer.okT
		for _, g := range e.older {
			a.Grants = append(a.Grants, g.id)
			a.Processes = append(a.Processes, g.process)
			from = min(from, g.okT)
		}
		left := older.leaseLeft(e.from)
		a.Sizes["remaining"] = left
		if older.lease > 0 {
			a.Sizes["lease"] = older.lease
		}
		if asked := (meeting{e.older, newer, e.from}).early().Asked; asked > 0 && !e.renewed {
			a.Sizes["asked_before"] = asked
		}
		what := "was granted the lock"
		if newer.token != 0 {
			what = fmt.Sprintf("was granted token %d", newer.token)
		}
		again := ""
		if n := older.renewed.before(e.from); n > 0 {
			a.Sizes["since_renewal"] = e.from - older.renewals()[n-1].okT
			again = " and renewed " + dur(a.Sizes["since_renewal"])
		}
		while := fmt.Sprintf("while %s's %s, granted %s%s earlier, %s",
			older.process, older.claim(), dur(e.from-older.okT), again, older.leftWords(e.from))
		switch {
		case !e.newer.lock.mutex():
			refs = append(refs, explainCrowd(e, &a)...)
		case e.covered:
			others := ""
			if a.More = e.more; e.n() > crowdAll {
				others = fmt.Sprintf(", and after it %d more, each begun before the one before it had ended,", e.n()-1)
			}
			a.Explanation = fmt.Sprintf("%s %s between %s and %s, while %s's %s%s certainly had time left throughout",
				newer.process, what, format.Instant(newer.givenWithin().from), format.Instant(newer.okT), older.process, older.claim(), others)
			refs = append(refs, coverEvidence(e)...)
		case e.renewed:
			var unsure []int32
			a.Cause, what, unsure = newer.renewedEarly(e.from)
			a.Explanation = fmt.Sprintf("%s by %s, %s", what, format.Instant(e.from), while)
			refs = append(append(older.evidenceAt(e.from), newer.evidenceAt(e.from)...), unsure...)
		default:
			a.Sizes["overlap"] = min(older.aliveUntil(e.from), newer.aliveUntil(e.from)) - e.from
			stopped, words := an.faults.stoppedFor(older, e.from)
			if stopped > 0 {
				a.Sizes["stopped"] = stopped
			}
			a.Explanation = fmt.Sprintf("%s %s by %s, %s%s", newer.process, what, format.Instant(e.from), while, words)
			refs = append(older.evidenceAt(e.from), newer.evidenceAt(e.from)...)
			if w := newer.givenWithin(); len(newer.evidenceAt(e.from)) > 1 && older.aliveOver(w.from, w.to) && !older.startsAt(w.from) {
				// How long newer held does not matter: it had nowhere to begin.
				refs, e.covered = coverEvidence(e), true
			}
		}
		blame := an.suspects.early[newer]
		before, gone := first[older]
		if gone && before.cause == endedEarly && !before.newer.aliveAt(e.from) && a.Cause == "granted-early" {
			a.Cause = endedEarly
			a.Explanation += before.words()
			refs = append(refs, before.evidence(e.from)...)
		} else if a.Cause == "granted-early" && !gone && roundedDown(a.Sizes) {
			a.Cause = rounded
		} else if c, ok := countedLateBefore(e, blame.suspect); ok && a.Cause == "granted-early" {
			a.Cause, blame = countedLate, an.suspects.held(c.of, interval{c.sent, c.begun}, c.of.leaseLeft(e.from), true)
			a.Explanation += c.words(e.from)
			refs = append(refs, c.evidence(e)...)
		} else if r, ok := renewedEndedBefore(e, blame.suspect); ok && a.Cause == "granted-early" {
			a.Cause, blame = renewedEnded, an.suspects.held(r.of, interval{r.since, r.by.invT}, r.by.invT-r.end, true)
			a.Explanation += r.words()
			refs = append(refs, r.evidence(e)...)
		} else if x, ok := expiredBefore(e, blame.suspect); ok {
			a.Cause = sharedExpiry
			a.Explanation += x.words(e.from)
			refs = append(refs, x.evidence()...)
		} else if o := delayedRelease(e, blame.suspect); o != nil {
			a.Cause = lateRelease
			a.Explanation += o.lateWords()
			refs = append(refs, o.inv, o.grant.ok)
		} else if b, ok := an.grantedByFew(e); ok && a.Cause == "granted-early" {
			a.Cause, blame = minority, b.blame()
			a.Explanation += b.words(an.opt.Leaderless)
			refs = append(refs, b.inv, b.ok)
		} else if o := an.overlaps.wrong.besideGrant(e, blame.suspect); o != nil && a.Cause == "granted-early" {
			a.Cause = lateRelease
			a.Explanation += o.lateWords()
			refs = append(append(refs, o.evidence()...), o.grant.ok)
		} else if o := an.overlaps.wrong.freedByOwn(e, blame.suspect); o != nil && a.Cause == "granted-early" {
			a.Cause = ownRelease
			a.Explanation += o.ownWords()
			refs = append(refs, o.inv, o.comp, o.grant.ok)
		} else if why := an.holdRules.releasedLost(e, blame.suspect); why != "" && a.Cause == "granted-early" {
			a.Cause = confirmedLost
			a.Explanation += why
		} else if d, ok := an.gaps[newer]; ok && a.Cause == "granted-early" {
			a.Cause = downgradeGap
			a.Explanation += d.words()
			refs = append(refs, d.evidence()...)
		} else if quiet, ok := an.faults.quietBefore(e, requests); ok && a.Cause == "granted-early" {
			a.Cause = endedEarly
			a.Explanation += e.quietWords(quiet)
			refs = append(refs, newer.inv)
		}
		if !gone && !e.renewed {
			first[older] = firstEarly{newer, a.Cause, slices.Clone(refs)}
		}
		if w := wrong[newer]; w != nil {
			a.Cause = "wrong-release"
			a.Explanation += fmt.Sprintf("; %s had released at %s a lock that it no longer held", w.by.process, format.Instant(w.release.invT))
			refs = append(refs, w.evidence(&an.tokens)...)
		}
		if f, ok := an.freeing[newer]; ok {
			a.Cause = f.cause()
			a.Explanation += f.words(newer, older.process)
			refs = append(refs, f.evidence(newer)...)
		}
		for _, g := range e.older {
			refs = an.tokens.believe(refs, g, newer)
		}
		a.Grants = append(a.Grants, newer.id)
		a.Events = an.evidence.at(refs...)
		out = append(out, an.evidence.finish(a, from, blame, newer.process))
	}
	return out
}

// firstEarly is the first grant that came while an older lease had time left, why, and the events that show it. A lock that was given away once
// is free to be taken again: what comes while the same lease has time left tells nothing of its own.
type firstEarly struct {
	newer *grant
	cause string
	refs  []int32
}

func (f firstEarly) words() string {
	return fmt.Sprintf("; that lease had ended before: %s had been granted the lock at %s", f.newer.process, format.Instant(f.newer.okT))
}

// evidence lists the events that show it, and that the first newer grant was over at a time.
func (f firstEarly) evidence(at int64) []int32 {
	g, refs := f.newer, slices.Clone(f.refs)
	switch r := g.release; {
	case g.promised <= at:
	case r != nil && r.invT <= min(at, g.lostT):
		refs = append(refs, r.inv)
	case g.lostT <= at:
		refs = append(refs, g.lost)
	}
	return refs
}

// renewedEarly is the cause, and what happened, where the renewal that was answered at t met another
// client's lease; and the events that show why the lease need not have ended before.
func (g *grant) renewedEarly(t int64) (cause, what string, unsure []int32) {
	over, why := g.overAt(t - 1)
	if over {
		return "renewed-early", g.process + "'s lease had ended and was renewed", nil
	}
	return "granted-early", g.process + "'s lease, which may have ended, was renewed", g.unbroken(why)
}

// lasting is why a lease need not have ended: a grant of its hold that lasts long enough, or longest, by its last renewal if it took one,
// and what may have renewed it.
type lasting struct {
	of    *grant
	by    *renewal
	asked []*op
}

// unbroken lists the events of it, and those without which there would seem to be a gap before it; of the grant itself
// nothing but its renewal.
func (g *grant) unbroken(why lasting) []int32 {
	var refs []int32
	switch {
	case why.by != nil:
		refs = append(why.of.evidenceOver(why.of.okT, why.by.okT-1), why.by.ok)
	case why.of != g:
		refs = append(refs, why.of.ok)
	}
	for _, o := range why.asked {
		refs = append(refs, o.inv)
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
