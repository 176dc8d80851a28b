package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

// keptLease is a lease that was given back, and the grant that came next; and the acquire that was sent between the two, and what its
// client had been granted first of all, and fastest.
type keptLease struct {
	released, newer *grant
	lease, until    int64 // for how long it was to last, and when it was to end
	asked           *op
	first, fastest  *grant
	at              int64 // when the next grant was given, at the earliest
	long            bool  // it shows by itself
	starting        bool  // a client that had been killed was not running again all that time
}

// enough says whether the lock stays taken for long enough if so much of the lease is left when the client asks.
func (l keptLease) enough(left int64) bool {
	if l.long {
		return left >= max(leastKept, l.lease/2)
	}
	return left >= max(leastKeptOften, l.lease/4)
}

// atItsEnd says that the next grant was given when the lease would have ended, or soon after: services look for leases that are over only now and then. What
// comes later had another reason.
func (l keptLease) atItsEnd() bool {
	return l.released.silent() || l.at <= satAdd(l.until, max(leastKept, l.lease/2))
}

// left is how much of the lease was left when the client asked.
func (l keptLease) left() int64 { return l.until - l.asked.invT }

// knownGrants are, of each process, its first grant of any lock, and the one whose answer came fastest.
type knownGrants struct{ first, fastest map[string]*grant }

func newKnownGrants(locks []*lock) knownGrants {
	n := knownGrants{map[string]*grant{}, map[string]*grant{}}
	for _, k := range locks {
		for _, g := range k.grants {
			if f := n.first[g.process]; f == nil || g.okT < f.okT {
				n.first[g.process] = g
			}
			if f := n.fastest[g.process]; f == nil || g.okT-g.invT < f.okT-f.invT {
				n.fastest[g.process] = g
			}
		}
	}
	return n
}

// releasedLeases are the leases that were given back before the next grant with a good part left of them: of those of several clients that had the lock at once, before
// another one had it, the one that was to end last.
func (an *analysis) releasedLeases(k *lock) []keptLease {
	var out []keptLease
	for n, newer := range k.grants {
		last := keptLease{newer: newer}
		room := max(1, k.permits)
		for i := n - 1; i >= max(0, n-mostLeft) && room > 0; i-- {
			g := k.grants[i]
			if g.first != nil { // the hold is looked at
				continue
			}
			if g.mode != shared {
				room--
			}
			if g.lingers { // and yet it shows that what was released before it was free
				continue
			}
			lease := an.leaseOf(g)
			until, ok := an.givenBack(g)
			if lease <= 0 || !ok || g.release.endT > newer.okT {
				continue
			}
			if until-g.release.endT >= max(leastKeptOften, lease/4) && (last.released == nil || until > last.until) {
				last.released, last.lease, last.until = g, lease, until
			}
		}
		if last.released != nil {
			out = append(out, last)
		}
	}
	return out
}

// silent says that its client's library renews it by itself, and says nothing of its lease.
func (g *grant) silent() bool { return g.watchdog && g.hasNoLease() }

// leaseOf is the lease of a grant; of a silent one what its client asked for.
func (an *analysis) leaseOf(g *grant) int64 {
	if g.silent() {
		return an.opt.TTL
	}
	return g.lease
}

// leaseEnd is when the lease of a grant was to end. A silent one may have been renewed: a library that does so in time leaves more than half of
// it.
func (an *analysis) leaseEnd(g *grant) int64 {
	if g.silent() {
		return max(satAdd(g.okT, an.opt.TTL), satAdd(g.release.invT, int64(leftByWatchdog*float64(an.opt.TTL))))
	}
	return g.promised
}

// leftByWatchdog is the part of a lease that is left at any time if a library renews it by itself, each third of it as a rule.
const leftByWatchdog = 0.6

// mayLast is until when a grant can have kept the lock. If it was not given back, a renewal may have been on its way to the service.
func (an *analysis) mayLast(g *grant) int64 {
	released := g.release != nil && g.release.typ == tOK
	if renewing := g.watchdog || g.unsure != nil; renewing && !released {
		return max(g.heldUntil(), satAdd(g.believedEnd, an.leaseOf(g)))
	}
	return g.heldUntil()
}

// givenBack is until when the lease was promised, if its client has given back all that it had of the lock: its first grant last.
func (an *analysis) givenBack(g *grant) (until int64, ok bool) {
	if g.unsure != nil && len(*g.unsure) > 0 {
		return 0, false
	}
	for _, e := range g.lock.inHoldOf(g) {
		if r := e.release; r == nil || r.typ != tOK || r.inv < 0 || r.endT > g.release.endT {
			return 0, false
		}
		until = max(until, an.leaseEnd(e))
	}
	return until, true
}

// askedSince is the first acquire that was sent after the release, and was under way until the next grant, or is that; nil for none. Its client had been
// granted a lock before.
func (l keptLease) askedSince(acquires []*op, first map[string]*grant) *op {
	from, _ := slices.BinarySearchFunc(acquires, l.released.release.endT, func(o *op, t int64) int { return cmp.Or(cmp.Compare(o.invT, t), -1) })
	for _, o := range acquires[from:min(len(acquires), from+mostAsked)] {
		had := first[o.process]
		if o.invT >= l.newer.okT {
			return nil
		}
		if o.endT >= l.newer.okT && had != nil && had.okT < o.invT {
			return o
		}
	}
	return nil
}

// faster is how many times as fast as an answer that may have been late another one has to be: then it was the lock that took the time, and not the library.
const faster = 4

// given is when a grant was given, at the earliest. A library that renews its lease and says nothing of it tells of a grant by its answer: it had the
// lock no sooner if another answer was fast, and this one was not.
func (n knownGrants) given(g *grant) int64 {
	if f := n.fastest[g.process]; g.silent() && f != nil && faster*(f.okT-f.invT) <= g.okT-g.invT {
		return g.okT
	}
	return g.lo
}

// grantedAt is when the next grant was given, at the earliest. A lease of which nothing says how long it lasted may have been renewed until the
// release, and ended then: a grant that came later says nothing.
func (l keptLease) grantedAt(known knownGrants) int64 {
	until := satAdd(l.released.release.invT, satAdd(l.lease, max(leastKeptOften, l.lease/4)))
	if l.newer.silent() && l.newer.okT > until {
		return l.newer.lo
	}
	return known.given(l.newer)
}

// waitedThrough says that another client was waiting when the lock was released, and that a fault had been on since it had asked. ends are when the acquires end.
func (l keptLease) waitedThrough(acquires []*op, ends *maxTree, quiet *idle) bool {
	at := l.released.release.endT
	i := ends.first(0, at+1)
	return i >= 0 && acquires[i].invT < at && !quiet.over(acquires[i].invT, at)
}

// refs are the events that show it.
func (l keptLease) refs() []int32 {
	older, newer := l.released, l.newer
	refs := []int32{older.ok, older.release.inv, older.release.comp, l.asked.inv, newer.ok}
	from := older.since
	if older.silent() {
		from = older.okT
	}
	if !l.enough(satAdd(from, l.lease) - l.asked.invT) { // what it was renewed, or entered once more, is needed
		for _, g := range older.lock.inHoldOf(older) {
			if refs = append(refs, g.promiseEvidence(g.promised-1)); g != older {
				refs = append(refs, g.ok, g.release.inv, g.release.comp)
			}
		}
	}
	f := l.fastest
	if before := newer.silent() && f.okT < l.asked.invT; older.process != l.asked.process && !before {
		refs = append(refs, l.over(l.first)...)
	}
	if newer.silent() {
		if refs = append(refs, l.over(f)...); faster*f.okT > newer.okT-l.asked.invT { // else it was fast whenever it was asked for
			refs = append(refs, f.inv)
		}
	}
	return refs
}

// over are the events that show a grant, and that it was over when the lock was asked for.
func (l keptLease) over(g *grant) []int32 {
	refs := []int32{g.ok}
	if long := g.watchdog || max(g.promised, satAdd(g.okT, g.lease)) > l.asked.invT; long && l.newer.lock.permits <= 1 {
		if refs = append(refs, g.lost); g.release != nil {
			refs = append(refs, g.release.comp)
		}
	}
	return refs
}

// endWords say of its lease when the lock was granted.
func (l keptLease) endWords() string {
	newer := fmt.Sprintf("%s was granted it at %s", l.newer.process, format.Instant(l.newer.okT))
	if l.released.silent() {
		return fmt.Sprintf("and its client had asked for a lease of %s, which its library renews until the release. %s, when such a lease is over", dur(l.lease), newer)
	}
	after := "when"
	if late := l.newer.okT - l.until; late > l.lease/4 {
		after = dur(late) + " after"
	}
	return fmt.Sprintf("with %s of the lease left. %s, %s that lease would have ended", dur(l.until-l.released.release.endT), newer, after)
}

// startingWords say which fault was on, where one was.
func (l keptLease) startingWords() string {
	if l.starting {
		return " but the kill of a client before, which was not running again yet"
	}
	return ""
}
