package checker

import (
	"math"
	"slices"
	"strings"
)

// letGo lets go what can be of the grants that are done with, from the first one on.
func (l *letting) letGo(r *reader, k *lock) {
	m := &k.gone
	horizon := l.horizon(k)
	end, reach := m.decided, []int64(nil)
	// The last one stays: what comes next is compared with it.
	for ; end < len(k.grants)-1 && k.grants[end].okT < horizon; end++ {
		until, ok := r.settled(k.grants[end])
		if !ok {
			break
		}
		reach = append(reach, until)
	}
	if len(reach) == 0 {
		return
	}
	l.used = true
	l.lookAtFaults(r)
	done, rest := slices.Clone(k.grants[m.decided:end]), k.grants[end:]
	now := rest[0].okT
	for _, g := range done {
		g.decided = true
		g.findAlive()
	}
	l.decideTried(k, done, now)
	later := int64(math.MaxInt64) // the smallest token from here on
	smallest := make([]int64, len(done))
	for i, g := range slices.Backward(k.grants[m.decided:]) {
		if i < len(done) {
			smallest[i] = later
		}
		if g.token > 0 {
			later = min(later, g.token)
		}
	}
	kept := k.grants[:m.decided]
	var keptOK []int64
	for i, g := range done {
		g.let = g.ordinary(m, k.grants[m.decided+i+1], smallest[i])
		m.reach, m.top = max(m.reach, reach[i]), max(m.top, g.token)
		if g.let {
			l.count(r, g)
			continue
		}
		g.id = strings.Clone(g.id) // or it would keep what was decoded with it
		kept = append(kept, g)
		keptOK = append(keptOK, g.okT)
	}
	m.decided = len(kept)
	kept = append(kept, rest...)
	clear(k.grants[len(kept):])
	k.grants = kept
	k.dropReleases(now, append(keptOK, now))
	l.forget(r, done)
}

// settled says whether nothing that is likely to come changes what is known of a grant,
// and until when it can have had the lock.
func (r *reader) settled(g *grant) (int64, bool) {
	p, o := r.names.proc(g.process), g.release
	cut := g.lostT
	if o != nil {
		cut = min(cut, o.invT)
	}
	// Its client has gone on, or was killed: what it still waited for is not answered.
	moved := g.believedEnd != never && (p.recent != g || !p.killed.before(place{g.okT, 0}))
	switch {
	case cut == never:
		until := g.promise()
		if g.believedEnd == never || max(until, g.believedEnd) > r.last {
			return 0, false
		}
		return max(until, g.believedEnd), true
	case moved:
		return cut, true
	}
	return cut, g.open == 0
}

// promise is the end of the last promise.
func (g *grant) promise() int64 {
	until := int64(0)
	if g.lease > 0 {
		until = satAdd(g.since, g.lease)
	}
	return max(until, g.renewed.promised())
}

// ordinary says of a grant that is decided whether no anomaly can have to do with it: it
// had the lock alone, from its ok to its release, and its token is in its place. next is
// the grant after it; later the smallest token of all after it. One that read or wrote is
// needed by what it read and wrote.
func (g *grant) ordinary(m *remains, next *grant, later int64) bool {
	o := g.release
	return !g.kept && !g.touched && g.mode == exclusive &&
		o != nil && o.inv >= 0 && o.comp >= 0 && o.typ == tOK &&
		m.reach <= g.okT && next.okT >= o.invT &&
		(g.token == 0 || (g.token > m.top && g.token < later))
}

// count sums a grant up that is let go.
func (l *letting) count(r *reader, g *grant) {
	m := &g.lock.gone
	m.grants++
	if g.contested {
		m.contested++
	}
	if l.ttl.certain(g) {
		m.held++
	}
	if g.token > 0 {
		m.tokens++
		m.topLet = g.token
		m.succeeded = m.succeeded || g.lo > m.first
	}
	m.maxLease = max(m.maxLease, g.lease)
	m.renewed = m.renewed || g.renewed != nil
	if g.tried == triedIt {
		m.asked++
	}
	l.sinceHealed(r)
	if g.okT > l.healed {
		l.after++
	}
	m.addBusy(span{g.lo, max(g.release.endT, g.okT)}, l.opt.Bound)
}

// sinceHealed begins to count anew when a fault has ended since.
func (l *letting) sinceHealed(r *reader) {
	if l.healed != r.faults.healed {
		l.healed, l.after = r.faults.healed, 0
	}
}

// addBusy adds when a grant had the lock, by rising ok. What a gap of no more than the bound
// parts is one stretch: nobody looks at such gaps.
func (m *remains) addBusy(s span, bound int64) {
	for n := len(m.busy); n > 0 && s.from-m.busy[n-1].to <= bound; n-- {
		last := m.busy[n-1]
		s = span{min(s.from, last.from), max(s.to, last.to)}
		m.busy = m.busy[:n-1]
	}
	m.busy = append(m.busy, s)
}

// dropReleases drops those of grants that were let go, among the releases before now. The
// last one before the ok of a grant that stays may have let it in, and stays.
func (k *lock) dropReleases(now int64, keptOK []int64) {
	m := &k.gone
	list := k.released[m.released:]
	out := k.released[:m.released]
	i := 0
	for ; i < len(list) && list[i].invT < now; i++ {
		o := list[i]
		next := now
		if i+1 < len(list) {
			next = min(next, list[i+1].invT)
		}
		if g := o.grant; g != nil && g.let {
			for len(keptOK) > 0 && keptOK[0] <= o.invT {
				keptOK = keptOK[1:]
			}
			if keptOK[0] > next {
				o.grant = nil
				continue
			}
		}
		out = append(out, o)
	}
	m.released = max(0, len(out)-1) // the last one is looked at again
	out = append(out, list[i:]...)
	clear(k.released[len(out):])
	k.released = out
}

// forget lets nothing else name the grants that were let go.
func (l *letting) forget(r *reader, done []*grant) {
	for _, g := range done {
		p := r.names.proc(g.process)
		if g.let {
			r.names.forget(g)
			p.latest.drop(g)
			if p.recent == g {
				p.recent = nil
			}
			// Or records that share a block would keep each other.
			g.release, g.renewed, g.many = nil, nil, nil
		}
	}
	l.looks++
	for _, g := range done {
		if p := r.names.proc(g.process); p.look != l.looks {
			p.look = l.looks
			p.trim()
		}
	}
}
