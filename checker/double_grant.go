package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

func init() { finders["double-grant"] = findDoubleGrants }

func findDoubleGrants(an *analysis) []Anomaly {
	wrong, late := an.overlaps.wrong.found, an.lateReleases()
	var out []Anomaly
	for d := range inTime(an.limit, an.overlaps.doubles) {
		newer := d.newer
		until := an.holdRules.presumedEnd(newer)
		if d.more > 0 {
			until = min(until, d.until)
		}
		for _, g := range d.older {
			until = min(until, an.holdRules.presumedEnd(g))
		}
		a, refs, from := an.doubleGrant(d, until)
		a.Explanation = fmt.Sprintf("%s by %s, while %s, and nothing had ended that: not released, no lease known to be over, no fault on them or on the service; %s held it %s",
			newer.gets(), format.Instant(newer.okT), d.holdWords(), d.all(), overlapWords(a.Sizes["overlap"]))
		var why blamed
		switch w := wrong[newer]; {
		case w != nil:
			a.Cause = "wrong-release"
			a.Explanation += fmt.Sprintf("; %s had released at %s a lock that it no longer held", w.by.process, format.Instant(w.release.invT))
			refs = append(refs, w.evidence(&an.tokens)...)
		case an.freeing[newer].by != nil:
			f := an.freeing[newer]
			a.Cause = f.cause()
			a.Explanation += f.words(newer, d.older[0].process)
			refs = append(refs, f.evidence(newer)...)
		case d.release != nil:
			a.Explanation += d.release.foreignWords()
		case an.holdRules.unrenewed(d):
			a.Cause = notRenewed
			a.Explanation += fmt.Sprintf("; the library of %s had promised to renew the lock by itself, and the lease that its client had asked for was over", d.older[0].process)
		default:
			if c, ok := an.holdRules.countedLate(d); ok {
				a.Cause = countedLate
				a.Explanation += c.unpromisedWords()
				refs = append(refs, c.unpromisedEvidence(newer)...)
			} else if c, ok := an.gaps[newer]; ok {
				a.Cause = downgradeGap
				a.Explanation += c.words()
				refs = append(refs, c.evidence()...)
			} else if o := an.gaveUp.before(d.older[0], newer); o != nil && newer.lock.mutex() {
				a.Cause = waiterLeft
				a.Explanation += o.gaveUpWords(newer)
				refs = append(refs, o.inv, o.comp, newer.inv)
			}
		}
		switch l, ok := late[newer]; {
		case !ok:
		case l.own && a.Cause == "":
			a.Cause = ownRelease
			a.Explanation += l.release.ownWords()
			refs = append(refs, l.release.inv, l.release.comp, l.release.grant.ok)
		case !l.own:
			a.Cause, why = lateRelease, l.why
			if refs = append(refs, l.release.inv, l.release.grant.ok); d.release == nil {
				a.Explanation += l.release.lateWords()
			} else {
				refs = append(refs, l.release.comp, d.older[0].inv)
			}
		}
		if a.Cause == "" && d.release == nil {
			a.Explanation += an.formerWords(d.older)
		}
		a.Events = an.evidence.at(refs...)
		out = append(out, an.evidence.finish(a, from, why, newer.process))
	}
	return append(out, an.withoutServer()...)
}

// doubleGrant is the anomaly of a pair that had the lock together until then, without its words; the events that show it; and when
// the first of them was granted it.
func (an *analysis) doubleGrant(d doublePair, until int64) (a Anomaly, refs []int32, from int64) {
	newer := d.newer
	a = Anomaly{Key: newer.lock.name, Time: newer.okT, More: d.more, Sizes: map[string]int64{"overlap": an.overlap(newer.okT, until)}}
	refs, from = []int32{newer.ok}, newer.okT
	for _, g := range d.older {
		a.Grants = append(a.Grants, g.id)
		refs, from = append(refs, g.ok), min(from, g.okT)
		if !g.hasNoLease() {
			refs = append(refs, g.evidenceAt(newer.okT)...)
		}
	}
	a.Grants, a.Processes = append(a.Grants, newer.id), processesOf(d.older)
	if n := newer.lock.permits; n > 0 {
		a.Sizes["permits"] = n
	}
	return a, refs, from
}

// holdWords says who held the lock: "c1 held it (c1.1), granted 20 ms earlier".
func (d doublePair) holdWords() string {
	if n := d.n(); n > 1 {
		return fmt.Sprintf("%s held all %d permits", d.processes(), n)
	}
	g := d.older[0]
	how := "held it"
	if g.mode == shared {
		how = "shared it"
	}
	return fmt.Sprintf("%s %s%s, granted %s earlier", g.process, how, g.with(), dur(d.newer.okT-g.okT))
}

func (d doublePair) all() string {
	if d.n() == 1 {
		return "both"
	}
	return "all"
}
