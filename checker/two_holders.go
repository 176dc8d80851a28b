package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["two-holders"] = findTwoHolders }

// findTwoHolders finds every grant that came while as many other clients as the kind of lock
// allows still believed that they held it: no release invoked, no loss learnt, not killed. Of
// a mutex it names the one that went on believing longest.
func findTwoHolders(an *analysis) []Anomaly {
	early, wrong := an.overlaps.earlyGrants(), an.overlaps.wrongGrants()
	var out []Anomaly
	for _, k := range an.locks {
		c := k.capacity()
		if c == nil {
			continue
		}
		first := true
		for g := range inTime(an.limit, k.grants) {
			if g.believedEnd <= g.okT {
				continue
			}
			p := holdInterval{interval{g.okT, g.believedEnd}, g}
			if older := c.conflicts(p); older != nil {
				out = append(out, twoHolders(an, crowdOf(older, first), g, early[g] || k.mutex() && wrong[g]))
				first = false
			}
			c.add(p)
		}
	}
	return out
}

// twoHolders reports a grant that came while others still believed.
func twoHolders(an *analysis, with crowd, newer *grant, early bool) Anomaly {
	a := Anomaly{Key: newer.lock.name, Time: newer.okT, Sizes: map[string]int64{}, More: with.more}
	older := with.older
	until, from := min(newer.believedEnd, with.until), newer.okT
	refs, culprit := []int32{newer.ok}, older[0]
	for _, g := range older {
		a.Grants = append(a.Grants, g.id)
		refs = append(refs, g.ok)
		from = min(from, g.okT)
		sooner := g.promised > 0 && (culprit.promised == 0 || g.promised < culprit.promised)
		if held, as := g.confirmedAfter(newer.okT), culprit.confirmedAfter(newer.okT); held == as && sooner || !held && as {
			culprit = g // the one whose lease ended first, of those that the lock does not say later to have been in force
		}
	}
	a.Grants, a.Processes = append(a.Grants, newer.id), processesOf(older)
	a.Events = an.evidence.at(refs...)
	a.Sizes["overlap"] = an.overlap(newer.okT, until)
	all := "both believed it"
	switch {
	case with.n() > 1:
		a.Explanation = fmt.Sprintf("%s believed that they held all %d permits", with.processes(), with.n())
		all = "all believed it"
	case newer.lock.permits == 1:
		a.Explanation = older[0].process + " still believed that it held the only permit"
	case older[0].mode == shared:
		a.Explanation = older[0].process + " still believed that it shared the lock"
	default:
		a.Explanation = older[0].process + " still believed that it held the lock"
	}
	gets := newer.gets()
	if newer.lock.mutex() {
		gets = newer.got()
		early = early && culprit.aliveAt(newer.okT)
	}
	a.Explanation += fmt.Sprintf(" when %s by %s; %s %s", gets, format.Instant(newer.okT), all, overlapWords(a.Sizes["overlap"]))
	late := an.blame(&a, culprit, newer, early)
	return an.evidence.finish(a, from, an.suspects.believed(a.Cause, late, culprit, newer), newer.process)
}

// confirmedAfter says that the lock said later that the grant had been in force beyond t.
func (g *grant) confirmedAfter(t int64) bool {
	return g.renewed.provesBeyond(t) != nil || g.releaseHeld() && g.release.invT > t
}

// overlap is how much of [from, until) the record shows. What is on at its last instant has no length there.
func (an *analysis) overlap(from, until int64) int64 { return min(until, max(from, an.last)) - from }

// overlapWords say for how long clients had the lock together.
func overlapWords(overlap int64) string {
	if overlap == 0 {
		return "as the record ends"
	}
	return "for " + dur(overlap)
}

// blame says why older's client went on believing, or newer's began to; early
// says that the service is to blame. It returns the one of the two that was late, or older.
func (an *analysis) blame(a *Anomaly, older, newer *grant, early bool) *grant {
	switch {
	case newer.learntLate():
		a.Cause = "never-held"
		a.Sizes["late"] = newer.okT - newer.promised
		a.Explanation += newer.overWords()
		return newer
	case older.learntLate():
		a.Cause = "never-held"
		a.Sizes["late"] = older.okT - older.promised
		a.Explanation += older.overWords()
	case early:
		a.Cause = "granted-early"
		a.Sizes["remaining"] = older.leaseLeft(newer.okT)
		a.Explanation += older.leaseWords(older.process+"'s", newer.okT)
	default:
		end := older.promisedAt(newer.okT)
		if an.unreportedSession(older, newer, min(older.believedEnd, newer.believedEnd)) {
			a.Cause = noNotice
			a.Explanation += an.libraryWords(a.Cause, older)
			break
		}
		if end <= 0 || end > newer.okT || !older.dated() {
			break
		}
		a.Cause = an.causeOfOutlived(older, newer.okT)
		a.Sizes["late"] = newer.okT - end
		a.Explanation += older.leaseWords(older.process+"'s", newer.okT)
		a.Explanation += an.libraryWords(a.Cause, older)
	}
	return older
}

// learntLate says that the lease was over before the client learnt of the grant.
func (g *grant) learntLate() bool { return g.lease > 0 && g.promised <= g.okT && g.dated() }

// dated says that the history says from when the lease counts. If it does not, the lease counts from 0; but none can be over before it was asked for.
func (g *grant) dated() bool {
	return len(g.renewals()) > 0 || g.inv < 0 || satAdd(g.since, g.lease) > g.invT
}
