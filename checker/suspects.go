package checker

import (
	"cmp"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
)

// blamed is the faults that had a part in an anomaly. The suspect, if there is one, is
// what most likely brought it about.
type blamed struct {
	suspect *part
	parts   []part
}

// A fault's rank says how well its kind explains what the service did: the service's own
// come before a client's.
const (
	rankState    = iota // a server lost what it knew, or a replica that did not know it took over
	rankClock           // leases and tokens that a server's clock counts
	rankBack            // a server that had failed before came back, and what was granted since it had not lost
	rankClients         // those that a client's clock counts
	rankThird           // on a client whose release was under way
	rankStanding        // a server's clock that was as wrong before
	rankServer          // anything else on the service
	rankOther           // anything else on a client
	rankNone            // its kind explains nothing of this
)

// rankEarly ranks what can make a service give away what is another's.
func rankEarly(p part) int {
	name := baseName(p.name)
	switch {
	case p.third && name == "clock", p.side == verdict.OnResource:
		return rankNone
	case p.third:
		return rankThird
	case p.side == verdict.OnServer && p.before:
		return rankBack
	case p.side == verdict.OnServer && slices.Contains([]string{"kill", "powerloss", "failover"}, name):
		return rankState
	case p.side == verdict.OnServer && name == "clock" && p.standing:
		return rankStanding
	case p.side == verdict.OnServer && name == "clock":
		return rankClock
	case p.side == verdict.OnClient && name == "clock":
		return rankClients
	case p.side == verdict.OnClient, p.side == verdict.OnMachine:
		return rankOther
	}
	return rankServer
}

// rankToken ranks what can make tokens come in another order than the grants: what is slow
// or cut off draws one later, but the same.
func rankToken(p part) int {
	r := rankEarly(p)
	name := baseName(p.name)
	switch {
	case r <= rankClients || r == rankStanding:
		return r
	case r == rankServer && slices.Contains([]string{"partition", "disk", "refuse"}, name), r == rankOther && name == "kill":
		return r
	}
	return rankNone
}

// weigh chooses for each of the meetings the fault that most likely brought it about, if
// there is one. A kind of fault is blamed for the meetings that it touched, the likeliest
// kind first, unless as many would have been touched by chance: then the same comes
// without it. habit says that what is left has a common pattern, which a fault of such a rank
// would not give it; it is asked before such a fault is blamed.
func (l *faultLog) weigh(meetings []meeting, stakeOf func(meeting) *stake, rank func(part) int, run interval, habit func([]meeting, int) bool) []blamed {
	out := make([]blamed, len(meetings))
	kinds := map[string]int{}
	stakes := make([]*stake, len(meetings))
	for i, m := range meetings {
		stakes[i] = stakeOf(m)
		for _, p := range l.parts(stakes[i]) {
			if r := rank(p); r < rankNone {
				out[i].add(p)
				kinds[p.kind()] = r
			}
		}
	}
	order := make([]string, 0, len(kinds))
	for k := range kinds {
		order = append(order, k)
	}
	slices.SortFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[a], kinds[b]), cmp.Compare(a, b))
	})
	order = order[:min(len(order), maxKinds)]
	left := make([]int, len(meetings))
	for i := range left {
		left[i] = i
	}
	if habit != nil {
		left = unexplained(meetings, out, rank)
	}
	explained := len(meetings) - len(left)
	left = l.soonAfter(meetings, out, left, rank, run)
	for _, kind := range order {
		if habit != nil && habit(these(meetings, left), kinds[kind]) {
			for _, i := range left {
				out[i].parts = slices.DeleteFunc(out[i].parts, func(p part) bool { return kinds[p.kind()] >= kinds[kind] })
			}
			break
		}
		touched := 0
		for _, i := range left {
			if out[i].of(kind) != nil {
				touched++
			}
		}
		all := len(left)
		if kinds[kind] >= rankClients {
			all += explained // they came without it; that a server failed or its clock was set is reason enough by itself
		}
		without := float64(all - touched)
		if touched == 0 || kinds[kind] > rankStanding && 2*touched < all {
			continue
		}
		if without > 0 {
			// Of those that the kind would touch by chance, as many came without it.
			if p := l.chances(kind, stakes, left, run); float64(touched)*(1-p) <= 2*without*p {
				continue
			}
		}
		left = slices.DeleteFunc(left, func(i int) bool {
			if out[i].suspect = out[i].of(kind); out[i].suspect == nil {
				return false
			}
			out[i].without(func(p part) bool { return kinds[p.kind()] > kinds[kind] })
			return true
		})
	}
	return out
}

// maxKinds is how many kinds of faults are weighed, the likeliest first: a history can make up
// one for each fault.
const maxKinds = 32

// maxChances is of how many stakes the chance is computed: it is a mean.
const maxChances = 64

// chances is the mean chance of the stakes at positions, of some of them where they are many.
func (l *faultLog) chances(kind string, stakes []*stake, refs []int, run interval) float64 {
	n := min(len(refs), maxChances)
	total := 0.0
	for i := range n {
		total += l.chance(kind, stakes[refs[i*len(refs)/n]], run)
	}
	return total / float64(n)
}

func these(meetings []meeting, refs []int) []meeting {
	out := make([]meeting, len(refs))
	for i, at := range refs {
		out[i] = meetings[at]
	}
	return out
}

// add adds a part, or puts it in place of an earlier one of its kind.
func (b *blamed) add(p part) {
	if old := b.of(p.kind()); old != nil {
		*old = p
		return
	}
	b.parts = append(b.parts, p)
}

// without takes away parts that explain less of the harm than the suspect does: with it, nothing says that they had
// one.
func (b *blamed) without(less func(part) bool) {
	suspect := *b.suspect // what it points to moves with the deletion
	b.parts = slices.DeleteFunc(b.parts, less)
	b.suspect = &suspect
}

// of is the latest fault of a kind among the parts: nearest to the harm.
func (b *blamed) of(kind string) *part {
	for i := range slices.Backward(b.parts) {
		if b.parts[i].kind() == kind {
			return &b.parts[i]
		}
	}
	return nil
}

// chance is how likely it is that faults of a kind touch a stake like this one at any
// other time of the run.
func (l *faultLog) chance(kind string, s *stake, run interval) float64 {
	all := s.all()
	length := all.to - all.from
	whole := run.to - run.from
	if length >= whole {
		return 1
	}
	var ends []interval
	anywhen := s.anywhen()
	for i := range l.list {
		f := &l.list[i]
		if side, ok := strings.CutPrefix(kind, baseName(f.name)); !ok || !strings.HasPrefix(side, " of ") {
			continue
		}
		p, ok := anywhen.touches(f)
		if !f.confirmed || !ok || p.kind() != strings.TrimSuffix(strings.TrimSuffix(kind, standing), before) {
			continue
		}
		ends = append(ends, s.endsTouched(f, kind, length)...)
	}
	slices.SortFunc(ends, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	covered, reach := int64(0), run.from
	for _, e := range ends {
		from, to := max(e.from, reach), min(e.to, run.to)
		if to > from {
			covered += to - from
			reach = to
		}
	}
	return min(1, float64(covered)/float64(whole))
}

// endsTouched lists when a stake like this one can end so that the fault touches it in this way. A server's
// clock that was set does so when it becomes wrong or right within the stake; or only when it is as wrong all along.
func (s *stake) endsTouched(f *fault, kind string, length int64) []interval {
	switch {
	case strings.HasSuffix(kind, before):
		return []interval{{satAdd(f.begin, s.service.to-s.service.from), satAdd(f.felt(), length)}}
	case f.losesState():
		return []interval{{f.begin, satAdd(f.begin, length)}}
	}
	if baseName(f.name) != "clock" || !strings.HasPrefix(kind, "clock of "+string(verdict.OnServer)) || f.clock.ends(s.left, s.lease) {
		return []interval{{f.begin, satAdd(f.felt(), length)}}
	}
	length = s.service.to - s.service.from
	if strings.HasSuffix(kind, standing) {
		return []interval{{satAdd(f.begin, length), f.end}}
	}
	return []interval{{f.begin, satAdd(f.begin, length)}, {f.end, satAdd(f.end, length)}}
}

// anywhen is the stake of the same clients, servers and links at any time.
func (s *stake) anywhen() *stake {
	whole := interval{-never, never}
	out := &stake{}
	if s.service.to > s.service.from {
		out.service = whole
	}
	if s.resource.to > s.resource.from {
		out.resource = whole
	}
	for _, p := range s.parties {
		out.parties = append(out.parties, party{p.process, whole})
	}
	for _, p := range s.third {
		out.third = append(out.third, party{p.process, whole})
	}
	for _, o := range s.unanswered {
		out.third = append(out.third, party{o.process, whole})
	}
	return out
}

// suspects is what is blamed for what the service did, by the grant that it ought not to
// have given, or not with that token.
type suspects struct {
	early  map[*grant]blamed
	tokens map[*grant]blamed
	faults *faultLog
	habits renewHabits
	renews map[*lock]bool // a grant of it was renewed, or was to be by its client's library
}

func newSuspects(an *analysis) suspects {
	s := suspects{early: map[*grant]blamed{}, tokens: map[*grant]blamed{}, faults: an.faults, habits: an.renews, renews: map[*lock]bool{}}
	for _, k := range an.locks {
		s.renews[k] = slices.ContainsFunc(k.grants, func(g *grant) bool { return g.renewed != nil || g.watchdog })
	}
	if len(an.faults.list) == 0 {
		return s
	}
	var early []meeting
	wrong := an.overlaps.wrong
	for _, e := range an.overlaps.early {
		early = append(early, meeting{e.older, e.newer, e.from})
	}
	first, later := firstOf(early)
	first = slices.DeleteFunc(first, func(m meeting) bool { return wrong.began(m.newer) != nil })
	for i, b := range an.faults.weigh(first, meeting.stake, rankEarly, interval{an.began, an.last}, habit) {
		s.early[first[i].newer] = b
	}
	for _, m := range early { // one that a wrong release let in after what made that wrong
		if w := wrong.began(m.newer); w != nil {
			s.early[m.newer] = s.released(w)
		} else if before, ok := later[m.newer]; ok {
			s.early[m.newer] = s.early[before.newer]
		}
	}
	tokens, after := an.tokens.steps(an.locks)
	for i, b := range an.faults.weigh(tokens, meeting.drawStake, rankToken, interval{an.began, an.last}, nil) {
		if known, ok := s.tokens[tokens[i].newer]; !ok || known.suspect == nil {
			s.tokens[tokens[i].newer] = b
		}
	}
	for g, step := range after {
		s.tokens[g] = s.tokens[step]
	}
	return s
}

// firstOf parts meetings into those in which a lock was first given away while an older
// grant was in force, and those that came of it: a lock that was given away once is free to
// be taken again. later has, by its newer grant, the first one of the same older grant.
func firstOf(list []meeting) (first []meeting, later map[*grant]meeting) {
	later = map[*grant]meeting{}
	byOlder := map[*grant]meeting{}
	for _, m := range slices.SortedStableFunc(slices.Values(list), func(a, b meeting) int { return cmp.Compare(a.at, b.at) }) {
		if known, ok := byOlder[m.older[0]]; ok {
			later[m.newer] = known
			continue
		}
		byOlder[m.older[0]] = m
		first = append(first, m)
	}
	return first, later
}

// habit says that locks were given away in a way that only the lock's own steps explain, and no fault of this rank, as
// it is on now and then: as soon as they had been given, or again and again at one share of the lease. That share a
// clock that is fast all the time explains as well.
func habit(list []meeting, rank int) bool {
	if rank <= rankThird {
		return false
	}
	early := earlyOf(list)
	_, steady := verdict.SteadyShare(early)
	return steady && rank > rankStanding || verdict.AtOnce(early)
}

func earlyOf(list []meeting) []verdict.Early {
	var early []verdict.Early
	for _, m := range list {
		early = append(early, m.early())
	}
	return early
}

// early is how the older grant was given away. Of several, which together leave no room, the latest one tells whether the
// newer grant came with it: the others had been there before. A writer that goes on to read had the lock already, and came with nobody.
func (m meeting) early() verdict.Early {
	latest := slices.MaxFunc(m.older, func(a, b *grant) int { return cmp.Compare(a.okT, b.okT) })
	e := verdict.Early{Lease: latest.lease, Left: latest.leaseLeft(m.at), Asked: latest.okT - m.newer.lo, Crowd: len(m.older) > 1}
	if e.Crowd && !e.AtOnce() || freedMeanwhile(latest, m.newer) || m.newer.downgraded {
		e.Asked = 0
	}
	return e
}

// unexplained lists the meetings that a habit of the lock does not explain which it shows where no fault was on that could
// have given it one. The others come without any fault, and none is blamed for them.
func unexplained(meetings []meeting, out []blamed, rank func(part) int) []int {
	habitual := verdict.HabitOf(earlyOf(meetings), func(i int) bool {
		return !slices.ContainsFunc(out[i].parts, func(p part) bool { return rank(p) <= rankStanding && !p.third })
	})
	var left []int
	for i := range meetings {
		if habitual(i) {
			out[i].parts = nil
			continue
		}
		left = append(left, i)
	}
	return left
}

// overlapped is what is blamed for two grants that were in force together.
func (s *suspects) overlapped(older, newer *grant) blamed {
	if b, ok := s.early[newer]; ok {
		return b
	}
	// What two clients did beside each other may hang on their links with the resource, too.
	wide := func(m meeting) *stake {
		at := m.stake()
		at.lock = false
		return at
	}
	return s.faults.weigh([]meeting{{[]*grant{older}, newer, newer.okT}}, wide, rankEarly, interval{0, never}, nil)[0]
}

// touched is the faults that touched a stake, none of which is blamed.
func (s *suspects) touched(at *stake) blamed { return blamed{parts: s.faults.parts(at)} }
