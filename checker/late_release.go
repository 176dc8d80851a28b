package checker

import (
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

// lateRelease is the cause of a grant that came when a third client's release, which a fault had delayed, may have freed the lock: who
// looks at the owner and deletes the key in two steps frees what another client has been granted in between.
const lateRelease = "late-release"

// delayedRelease finds the release that the suspected fault may have delayed: it was sent before the older grant, no answer to it came before
// that, and its own lease was over by then, so that the older grant was in order. nil for none.
func delayedRelease(e earlyPair, suspect *part) *op {
	if suspect == nil || !suspect.third || !e.newer.lock.mutex() || e.renewed {
		return nil
	}
	o, _ := e.older[0].freedLate(func(*op) []*fault { return []*fault{suspect.fault} })
	return o
}

// delayed is such a release before a grant, and the fault that may have delayed it; nil for none.
func (l *faultLog) delayed(victim *grant) (*op, *fault) {
	return victim.freedLate(func(o *op) []*fault { return l.byNode[o.process].latest(nil, o.invT, victim.okT) })
}

// freedLate is the last release that may have freed the victim's lock late, and one of the faults on it that may have delayed it.
func (victim *grant) freedLate(faults func(*op) []*fault) (*op, *fault) {
	for _, o := range slices.Backward(victim.lock.releasedBefore(victim.okT)) {
		if !o.mayFree(victim) {
			continue
		}
		for _, f := range faults(o) {
			if f.delays(o, victim.okT) {
				return o, f
			}
		}
	}
	return nil, nil
}

// mayFree says that a release, of a grant that was over when the victim's was given, may have been carried out after that.
func (o *op) mayFree(victim *grant) bool {
	return o.mayComeAfter(victim.okT) && o.grant != nil && !o.grant.hasNoLease() && !o.grant.mayLast(victim.okT)
}

// mayComeAfter says that a release may have been carried out after t: it was not answered before.
func (o *op) mayComeAfter(t int64) bool { return o.typ == tInfo || o.typ == tOK && o.endT > t }

// delays says that the fault may have kept a request back from when it was under way until t.
func (f *fault) delays(o *op, t int64) bool {
	name := baseName(f.name)
	return name != "kill" && name != "clock" && f.hits(o.process) && f.overlaps(interval{o.invT, o.endT}) && f.felt() >= t
}

// lateWords say of a release that it may have freed the lock.
func (o *op) lateWords() string {
	answer := "was not answered"
	if o.typ == tOK {
		answer = "was answered at " + format.Instant(o.endT)
	}
	return fmt.Sprintf("; %s's release, which was sent at %s and %s, may have been carried out in between", o.process, format.Instant(o.invT), answer)
}
