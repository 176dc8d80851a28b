package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// freedMore is the cause of a grant that came because a release freed more of the lock than its client gave back: other
// entries of a reentrant lock, other readers' shares, another client's permit. Of a mutex that is a wrong-release, and is looked
// for here only if no lease was promised: then nothing says that the next client's request came after the release.
const freedMore = "freed-more"

// waitedMore is how many times as long as after the release a client must have waited before it: else
// the release need not have been what let it in.
const waitedMore = 10

// sharesFreed is how often a reader's release must have let a writer in beside other readers, each time that one was: a
// reader whose share was forgotten before looks the same, since the writer waits for the last one that is known.
const sharesFreed = 3

// freed is a release that freed more than it ought to have.
type freed struct {
	by *op
	// certain: it shows by itself. What else came so tells no more than that others of the lock did.
	certain bool
	// since: it had freed the lock before, and let another client in first.
	since bool
}

// freeing is such releases by the grants that they let in.
type freeing map[*grant]freed

// newFreeing looks for such a release before each grant that came too early, and no server's fault is suspected of. One that
// certainly let a client in tells what the others of that lock did; but a lock that lets clients in without one as well has
// another bug.
func newFreeing(o *overlaps, s *suspects) freeing {
	out, without, first := freeing{}, map[*lock]bool{}, map[*grant]freed{}
	shown, shares := map[*lock]bool{}, map[*lock]int{}
	look := func(older []*grant, newer *grant, renewed bool) {
		b := s.early[newer].suspect
		if b != nil && b.side == verdict.OnServer || newer.lock.mutex() && (!older[0].hasNoLease() || o.wrong.began(newer) != nil) {
			return
		}
		f, again := first[older[0]]
		if f.since, f.certain = again, f.certain && !again; !again {
			f = releaseBefore(older, newer)
			first[older[0]] = f
		}
		switch {
		case f.by == nil:
			without[newer.lock] = true
			return
		case renewed:
			return // it is early by more than its grant
		case f.certain && f.by.ofShare():
			shares[newer.lock]++
			f.certain = false
		case f.certain:
			shown[newer.lock] = true
		}
		out[newer] = f
	}
	for _, e := range o.early {
		look(e.older, e.newer, e.renewed)
	}
	for _, d := range o.doubles {
		look(d.older, d.newer, false)
	}
	maps.DeleteFunc(out, func(g *grant, _ freed) bool {
		return without[g.lock] || !shown[g.lock] && shares[g.lock] < sharesFreed
	})
	return out
}

// releaseBefore is the last release that may have let a client in beside those who had the lock already; nil for none.
// It certainly did if the client had waited for longer than it did afterwards: since the answer, or since the request if the answer
// came after the grant.
func releaseBefore(older []*grant, newer *grant) freed {
	latest := slices.MaxFunc(older, func(a, b *grant) int { return cmp.Compare(a.okT, b.okT) })
	for _, o := range slices.Backward(newer.lock.releasedBefore(newer.okT)) {
		if o.invT <= latest.okT {
			break
		}
		if o.grant == nil || o.typ != tOK && !o.refusedOver() || !givesBackLess(o, latest) {
			continue
		}
		if newer.inv < 0 || newer.lo-max(o.endT, newer.invT) > prompt {
			return freed{}
		}
		after := newer.okT - o.endT
		if after < 0 { // it may have been carried out long before its answer, or after the grant
			after = newer.okT - o.invT
		}
		return freed{by: o, certain: o.invT-newer.invT > waitedMore*after}
	}
	return freed{}
}

// givesBackLess says that a release leaves the lock with another grant, which had been there before: it is of an inner
// entry, of a share, or of a grant that was no longer in force.
func givesBackLess(o *op, other *grant) bool {
	return o.grant.ofHold() == other.ofHold() || o.ofShare() || o.over()
}

// ofShare says that a reader gives back what it may still have had.
func (o *op) ofShare() bool { return o.grant.mode == shared && !o.over() }

// over says that a release is of a grant whose lease was over, or which had been released before.
func (o *op) over() bool { return o.again() || !o.grant.hasNoLease() && !o.grant.mayLast(o.invT) }

// refusedOver says that the lock refused a release of what was over: it may have freed the lock all the same.
func (o *op) refusedOver() bool { return o.typ == tFail && !o.again() && o.over() }

// words explain it: whom it let in, and which client, left, still had the lock.
func (f freed) words(newer *grant, left string) string {
	waited, which := "", "a"
	if f.by.again() {
		which = "a second"
	}
	switch {
	case f.since:
		return fmt.Sprintf("; %s release of %s's at %s that left it with %s had freed it before", which, f.by.process, format.Instant(f.by.invT), left)
	case f.certain:
		waited = ", which had waited for it,"
	}
	return fmt.Sprintf("; %s%s was let in by %s release of %s's at %s that left it with %s", newer.process, waited, which, f.by.process, format.Instant(f.by.invT), left)
}

// cause is the name of such a release as a cause of a grant.
func (f freed) cause() string {
	if f.by.lock.mutex() {
		return "wrong-release"
	}
	return freedMore
}

// evidence lists the events that show it.
func (f freed) evidence(newer *grant) []int32 {
	if !f.certain {
		return nil
	}
	return append(f.by.evidence(), f.by.grant.ok, newer.inv)
}

// freedMeanwhile says that a release was under way, while both grants were given, that may have freed the older one. Else
// two that come together are one look at a free lock.
func freedMeanwhile(older, newer *grant) bool {
	for _, o := range newer.lock.releasedBefore(newer.okT) {
		if o.endT > older.lo && o.grant != nil && o.grant != older && o.grant != newer && givesBackLess(o, older) {
			return true
		}
	}
	return false
}
