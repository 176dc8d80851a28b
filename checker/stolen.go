package checker

import (
	"cmp"
	"slices"

	"github.com/picklock/picklock/checker/verdict"
)

// outlived is what is blamed for a client that acted on a grant when its lease was over,
// at or shortly before t. A fault is suspected only if without it the client would have
// been in time: if the faults that touched what it did took as much time from it as it was
// late. A critical section that was longer than its lease by itself needs no fault.
func (s *suspects) outlived(g *grant, t int64) blamed {
	from := min(g.lo, g.okT)
	if g.lease > 0 {
		from = min(from, max(g.since, g.lo))
	}
	end := min(max(g.promised, from), t)
	if s.renews[g.lock] {
		if w := g.lastWord(t); w > from && w <= end {
			from = w
		}
	}
	return s.late(g, interval{from, t}, t-g.promised, func(f *fault, side verdict.Side) int64 {
		switch {
		case side == verdict.OnMachine || side == verdict.OnClient && !f.onLinks():
			if s.renews[g.lock] && f.overlaps(interval{from, end}) {
				return never // it can have missed a renewal
			}
			return overlap(f.begin, f.end, interval{from, t})
		case s.renews[g.lock] && side != verdict.OnResource && f.overlaps(interval{from, end}):
			return never
		}
		return s.stuck(g, f, side, interval{from, t})
	})
}

// held is what is blamed for a request that was under way in s, and late by so much.
func (s *suspects) held(g *grant, s2 interval, late int64, server bool) blamed {
	return s.late(g, s2, late, func(f *fault, side verdict.Side) int64 {
		if side == verdict.OnServer && !server {
			return 0
		}
		return overlap(f.begin, f.felt(), s2)
	})
}

// late blames of the faults that touched a client in a interval the one that took most
// of it, if all of them together took what it was late.
func (s *suspects) late(g *grant, within interval, late int64, took func(*fault, verdict.Side) int64) blamed {
	at := &stake{service: within, resource: within, parties: []party{{g.process, within}}}
	var b blamed
	var most, all int64
	best := -1
	for _, p := range s.faults.parts(at) {
		switch baseName(p.name) {
		case "clock", "kill", "powerloss", "failover":
			if p.side == verdict.OnClient || p.side == verdict.OnResource {
				continue // a client does not wait for a clock, nor act while it is dead
			}
		}
		t := took(p.fault, p.side)
		if t <= 0 {
			continue
		}
		b.parts = append(b.parts, p)
		if all = satAdd(all, t); t > most {
			most, best = t, len(b.parts)-1
		}
	}
	if best < 0 || all < late {
		return blamed{}
	}
	b.suspect = &b.parts[best]
	return b
}

// stuck is for how long requests of a grant's client were under way, in s, that a fault
// can have held up: by a link any of them, by a server those to the service, by the
// resource those to it.
func (s *suspects) stuck(g *grant, f *fault, side verdict.Side, within interval) int64 {
	var total int64
	if side != verdict.OnResource {
		total += overlap(max(f.begin, within.from), f.felt(), interval{within.from, g.okT})
	}
	if side == verdict.OnServer {
		return total
	}
	ops := g.lock.ops
	i, _ := slices.BinarySearchFunc(ops, g.okT, func(o *op, t int64) int { return cmp.Compare(o.invT, t) })
	for _, o := range ops[i:min(len(ops), i+256)] { // bounded: a hostile history has many
		if o.invT > within.to {
			break
		}
		if o.grant == g {
			total += overlap(f.begin, f.felt(), interval{o.invT, min(o.endT, within.to)})
		}
	}
	return total
}

// overlap is how much of s lies in [from, to].
func overlap(from, to int64, s interval) int64 { return max(0, min(to, s.to)-max(from, s.from)) }
