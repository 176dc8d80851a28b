package checker

import (
	"cmp"
	"slices"
)

// overlaps is all that the service granted while another grant was in force, and by whose
// releases. Several anomalies read it.
type overlaps struct {
	early   []earlyPair
	doubles []doublePair
	wrong   wrongReleases
}

func newOverlaps(locks []*lock, n *holdRules, t *tokens, faults *faultLog) overlaps {
	early := findEarly(locks)
	doubles := findDoubles(locks, early, n, t)
	return overlaps{early, doubles, findWrong(early, doubles, t, faults)}
}

// earlyGrants is the set of the grants that came early.
func (o *overlaps) earlyGrants() map[*grant]bool {
	out := map[*grant]bool{}
	for _, e := range o.early {
		out[e.newer] = true
	}
	return out
}

// wrongGrants is the set of the grants that the service ought not to have given when it did.
func (o *overlaps) wrongGrants() map[*grant]bool {
	out := o.earlyGrants()
	for _, d := range o.doubles {
		out[d.newer] = true
	}
	return out
}

// locks is the set of the locks that were granted while another grant was in force.
func (o *overlaps) locks() map[*lock]bool {
	out := map[*lock]bool{}
	for _, e := range o.early {
		out[e.newer.lock] = true
	}
	for _, d := range o.doubles {
		out[d.newer.lock] = true
	}
	return out
}

// doublePair is a grant that came while others held the lock, and nothing excuses it.
type doublePair struct {
	newer *grant
	crowd
	// release is one in between, of a grant that was older still; nil if there is none.
	release *op
}

// findDoubles finds the grants that came while as many others as the lock allows held it
// by all that is known: they had been granted it and had not released it, no lease of
// theirs was known to have ended, and no fault was on them or on the service that could
// have taken the lock from them. A lock that promises no lease promises at least that.
// What findEarly found is left to it.
func findDoubles(locks []*lock, early []earlyPair, n *holdRules, t *tokens) []doublePair {
	var out []doublePair
	known := map[*grant]bool{}
	for _, e := range early {
		known[e.newer] = true
	}
	for _, k := range locks {
		if !slices.ContainsFunc(k.grants, (*grant).hasNoLease) {
			continue // leases say all of it
		}
		c := k.capacity()
		if c == nil {
			continue
		}
		first := true
		for _, p := range n.presumedHolds(k) {
			older := c.conflicts(p)
			if k.mutex() && older != nil && older[0].g.process == p.g.process {
				older = nil
			}
			if older != nil && !known[p.g] {
				known[p.g] = true
				d := doublePair{newer: p.g, crowd: crowdOf(older, first)}
				first = false
				d.release = staleRelease(d, t)
				out = append(out, d)
			}
			c.add(p)
		}
	}
	return out
}

// staleRelease is the last release between two grants that were given together by which
// a third client gave back a grant that was older than theirs, and to which the service
// agreed; nil if there is none.
func staleRelease(d doublePair, t *tokens) *op {
	victim := d.older[len(d.older)-1]
	list := victim.lock.released
	n, _ := slices.BinarySearchFunc(list, d.newer.okT, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	for i := n - 1; i >= max(0, n-64) && list[i].invT > victim.okT; i-- { // bounded, as in findWrong
		if o := list[i]; o.typ == tOK && foreign(o, victim, d.newer, t) {
			return o
		}
	}
	return nil
}
