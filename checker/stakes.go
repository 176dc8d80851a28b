package checker

import (
	"cmp"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
)

// registerNode is the name that every run gives the resource under the lock.
const registerNode = "register"

// party is a process whose doings an anomaly hangs on, and when they mattered.
type party struct {
	process string
	interval
}

// stake is what an anomaly hangs on: a fault that touched none of it has no part.
type stake struct {
	lock     bool     // what is done to the resource, or to links with it, does not matter
	service  interval // when the service's state mattered; empty: it did not
	resource interval // when the resource did
	parties  []party
	// third are those who are not accused, but whose requests were under way.
	third []party
	// unanswered are those of them whose release was not answered, and may have been carried out since.
	unanswered []*op
	// lease is what the service had promised to keep, and left how much of it was to come.
	lease, left int64
	// shortest is how much was to come of the lease that was to end first.
	shortest int64
	// answered is when the first of the grants was answered that the service ought to have kept.
	answered int64
}

// part is a fault that touched a stake.
type part struct {
	*fault
	side  verdict.Side
	third bool
	// standing: it was on before the stake and after it. A clock that was set neither began nor ceased to be wrong in
	// between: no lease ends early by that which begins and ends by this one clock. One that is known to be fast enough
	// to have ended this lease is none of them.
	standing bool
	// earlier: the server had failed before the service's last word on the grant, so that it did not lose this one.
	earlier bool
	// before: and it was back when the grant was answered.
	before bool
}

// What the kinds of such parts end with.
const (
	standing = " all along"
	before   = " before"
)

// kind names the class of faults that a part is one of.
func (p part) kind() string {
	if p.third {
		return baseName(p.name) + " of a third"
	}
	if p.standing && baseName(p.name) == "clock" {
		return baseName(p.name) + " of " + string(p.side) + standing
	}
	if p.before {
		return baseName(p.name) + " of " + string(p.side) + before
	}
	return baseName(p.name) + " of " + string(p.side)
}

// felt is until when a fault can have an effect: lost packets are felt for up to as long
// again (see unsettled).
func (f *fault) felt() int64 {
	if f.losesPackets() {
		return satAdd(f.end, min(f.end-f.begin, int64(FeltAfterHeal)))
	}
	return f.end
}

// overlaps says that the fault can have an effect in s, which has its ends in it.
func (f *fault) overlaps(s interval) bool { return f.begin <= s.to && f.felt() >= s.from }

// hits says that the fault was on this process or its links.
func (f *fault) hits(process string) bool { return slices.Contains(f.nodes, process) }

// touches says where a fault touched the stake, and whether it did.
func (s *stake) touches(f *fault) (part, bool) {
	if baseName(f.name) == Stall {
		return part{fault: f, side: verdict.OnMachine}, f.overlaps(s.all())
	}
	if s.lock && f.onResource() {
		return part{}, false
	}
	if s.service.to > s.service.from && f.concernsOthers() && f.overlaps(s.service) {
		earlier := f.begin < s.service.from && f.losesState()
		return part{
			fault: f, side: verdict.OnServer,
			standing: f.begin < s.service.from && f.end-settling > s.service.to && !f.clock.ends(s.left, s.lease),
			earlier:  earlier, before: earlier && f.end <= s.answered,
		}, true
	}
	for _, p := range s.parties {
		if f.hits(p.process) && f.overlaps(p.interval) {
			return part{fault: f, side: verdict.OnClient}, true
		}
	}
	if s.resource.to > s.resource.from && f.hits(registerNode) && f.overlaps(s.resource) {
		return part{fault: f, side: verdict.OnResource}, true
	}
	for _, p := range s.third {
		if f.hits(p.process) && f.overlaps(p.interval) {
			return part{fault: f, side: verdict.OnClient, third: true}, true
		}
	}
	for _, o := range s.unanswered {
		if f.delays(o, s.answered) {
			return part{fault: f, side: verdict.OnClient, third: true}, true
		}
	}
	return part{}, false
}

// all is from the first to the last instant of the stake.
func (s *stake) all() interval {
	out := interval{never, -never}
	add := func(o interval) {
		if o.to > o.from {
			out.from, out.to = min(out.from, o.from), max(out.to, o.to)
		}
	}
	add(s.service)
	add(s.resource)
	for _, p := range slices.Concat(s.parties, s.third) {
		add(p.interval)
	}
	for _, o := range s.unanswered {
		add(interval{o.invT, o.endT})
	}
	return out
}

// maxTouched bounds how many faults are looked at of a process, and of the service, at one
// stake: the last ones, which are nearest to the harm.
const maxTouched = 64

// parts lists the confirmed faults that touched the stake, by begin.
func (l *faultLog) parts(s *stake) []part {
	all := s.all()
	near := l.general.latest(nil, all.from, all.to)
	seen := map[string]bool{}
	look := func(node string) {
		if !seen[node] {
			seen[node] = true
			near = l.byNode[node].latest(near, all.from, all.to)
		}
	}
	for _, p := range s.parties {
		look(p.process)
	}
	for _, p := range s.third {
		look(p.process)
	}
	for _, o := range s.unanswered {
		look(o.process)
	}
	look(registerNode)
	// The list's own order is that of the begins.
	slices.SortFunc(near, func(a, b *fault) int { return cmp.Compare(a.n, b.n) })
	var out []part
	for _, f := range slices.Compact(near) {
		if p, ok := s.touches(f); ok {
			out = append(out, p)
		}
	}
	return s.withoutSmallClocks(out)
}

// lastWord is since when the service had nothing more to say of the grant before t: its
// last renewal that was granted by then, or else the grant itself.
func (g *grant) lastWord(t int64) int64 {
	last := min(g.lo, g.okT)
	if n := g.renewed.before(t); n > 0 {
		last = max(last, g.renewed.word[n-1])
	}
	return last
}

// meeting is a grant that the service ought not to have given, or not so, beside others.
type meeting struct {
	older []*grant
	newer *grant
	at    int64
}

// stake is what a meeting hangs on: the service from its last word on the older grants to
// the newer one, and both clients meanwhile. A release of another client's that was under
// way may have freed what it ought not to have, unless it failed.
func (m meeting) stake() *stake {
	s := &stake{lock: true, service: interval{m.at, m.at}, lease: m.older[0].lease, left: m.older[0].leaseLeft(m.at), shortest: never, answered: m.at}
	for _, g := range m.older {
		s.shortest = min(s.shortest, g.leaseLeft(m.at))
		s.answered = min(s.answered, g.okT)
		p := party{g.process, interval{g.lastWord(m.at), m.at}}
		s.parties = append(s.parties, p)
		s.service.from = min(s.service.from, p.from)
	}
	from := s.service.from
	if m.newer.inv >= 0 {
		from = max(from, m.newer.invT)
	}
	s.parties = append(s.parties, party{m.newer.process, interval{min(from, m.at), m.at}})
	list := m.newer.lock.released
	n, _ := slices.BinarySearchFunc(list, m.at, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	for i := n - 1; i >= max(0, n-64); i-- { // bounded, as in wrongBetween
		o := list[i]
		switch {
		case o.typ == tFail || slices.Contains(m.older, o.grant) || o.grant == m.newer:
		case o.endT > m.older[0].okT:
			s.third = append(s.third, party{o.process, interval{o.invT, min(o.endT, m.at)}})
		case o.typ == tInfo:
			s.unanswered = append(s.unanswered, o)
		}
	}
	return s
}

// drawStake is what the token of a grant hangs on, next to that of another one: the
// service in between, and either client while it was granted its own.
func (m meeting) drawStake() *stake {
	s := &stake{lock: true, service: interval{m.older[0].lo, m.at}, answered: m.older[0].okT}
	for _, g := range []*grant{m.older[0], m.newer} {
		from := g.lo
		if g.inv >= 0 {
			from = g.invT
		}
		s.parties = append(s.parties, party{g.process, interval{from, g.okT}})
	}
	return s
}
