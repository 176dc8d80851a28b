package checker

import (
	"cmp"
	"slices"
)

// faultLog is all faults of a history that ended at last.
type faultLog struct {
	list      []fault   // by begin
	confirmed faultList // by their ends, as service and failed; the others by until when they may be felt
	// Of the confirmed ones: which were on the service or the machine, or may have an effect on
	// clients that they do not name; and which name a node.
	general faultList
	byNode  map[string]*faultList
	service faultList // confirmed, and on anything but clients
	failed  faultList // confirmed, and a process lost by it what it knew
	ended   []int64   // when the confirmed ones ended, in order
	names   []*faultName
	// harm is when faults other than kills were on that name a client, and elsewhere those that concern also
	// clients that they do not name.
	harm      map[string][]interval
	elsewhere []interval
	drops     []interval // as elsewhere, but of a clock that was set only while it was being set forward
	maybeFelt []interval // when cuts of the network may be felt
	kills     map[string][]kill
	killed    bool // a client was
}

// kill is a fault that killed a process, as far as it concerns one.
type kill struct {
	interval
	reach int64 // the latest end among it and all before
	fault *fault
}

// faultName is when confirmed faults of one name were on.
type faultName struct {
	name         string
	begin, ended []int64 // each in order
}

// maxNames is of how many names of faults an anomaly says which were on, those that were on
// first: a history can make up one for each fault.
const maxNames = 32

// newFaultLog completes what was read.
func newFaultLog(list []fault, last int64, isClient func(string) bool) *faultLog {
	l := &faultLog{list: list, byNode: map[string]*faultList{}, harm: map[string][]interval{}, kills: map[string][]kill{}}
	for i := range list {
		f := &list[i]
		if !f.ended {
			f.end, f.healing = last, last
		}
		for _, n := range f.nodes {
			if isClient(n) {
				f.clients++
			}
		}
	}
	slices.SortStableFunc(list, func(a, b fault) int { return cmp.Compare(a.begin, b.begin) })
	byName := map[string]*faultName{}
	own := map[string][]*fault{} // of clients
	var others []*fault
	for i := range list {
		f := &list[i]
		f.n = i
		if f.concernsOthers() {
			others = append(others, f)
		}
		for _, n := range f.nodes {
			if isClient(n) && baseName(f.name) != "kill" && !f.onResource() {
				own[n] = append(own[n], f)
			}
		}
		l.addKill(f)
		if !f.confirmed {
			continue
		}
		l.confirmed.add(f)
		l.ended = append(l.ended, f.end)
		if f.onService() {
			l.service.add(f)
		}
		if f.fails() {
			l.failed.add(f)
		}
		if f.concernsOthers() || baseName(f.name) == Stall {
			l.general.add(f)
		}
		for _, n := range f.nodes {
			if l.byNode[n] == nil {
				l.byNode[n] = &faultList{}
			}
			l.byNode[n].add(f)
		}
		n := byName[f.name]
		if n == nil && len(byName) < maxNames {
			n = &faultName{name: f.name}
			byName[f.name] = n
			l.names = append(l.names, n)
		}
		if n != nil {
			n.begin, n.ended = append(n.begin, f.begin), append(n.ended, f.end)
		}
	}
	slices.Sort(l.ended)
	for _, n := range l.names {
		slices.Sort(n.ended)
	}
	for process, faults := range own {
		l.harm[process] = harmOf(faults)
	}
	l.elsewhere, l.drops = harmOf(others), harmOf(droppers(others))
	l.maybeFelt = maybeFelt(list)
	for _, list := range l.byNode {
		list.build((*fault).felt)
	}
	l.general.build((*fault).felt)
	for _, list := range []*faultList{&l.confirmed, &l.service, &l.failed} {
		list.build(func(f *fault) int64 { return f.end })
	}
	return l
}

// addKill takes the next fault, by begin.
func (l *faultLog) addKill(f *fault) {
	if baseName(f.name) != "kill" {
		return
	}
	l.killed = true
	for _, n := range f.nodes {
		list := l.kills[n]
		k := kill{interval{f.begin, f.end}, f.end, f}
		if len(list) > 0 {
			k.reach = max(k.reach, list[len(list)-1].reach)
		}
		l.kills[n] = append(list, k)
	}
}

// faultList is some of the faults, by begin.
type faultList struct {
	list []*fault
	ends maxTree
}

func (l *faultList) add(f *fault) {
	if n := len(l.list); n == 0 || l.list[n-1] != f {
		l.list = append(l.list, f)
	}
}

func (l *faultList) build(end func(*fault) int64) {
	l.ends.build(len(l.list), func(i int) int64 { return end(l.list[i]) })
}

// begun is how many had begun by t.
func (l *faultList) begun(t int64) int {
	n, _ := slices.BinarySearchFunc(l.list, t, func(f *fault, t int64) int { return cmp.Or(cmp.Compare(f.begin, t), -1) })
	return n
}

// latest adds to out those that were on at some time in [from, to], maxTouched at most: the
// last ones to begin, and of those the last one first.
func (l *faultList) latest(out []*fault, from, to int64) []*fault {
	if l == nil {
		return out
	}
	i := l.begun(to)
	for range maxTouched {
		if i = l.ends.last(i, from); i < 0 {
			break
		}
		out = append(out, l.list[i])
	}
	return out
}

// harmOf lists when a fault was on that can explain what a client lost that it concerns,
// confirmed or not, and for as long again as it lasted, while it may still be felt (see
// unsettled). They come by begin.
func harmOf(list []*fault) []interval {
	var out []interval
	for _, f := range list {
		until := satAdd(f.end, min(f.end-f.begin, int64(FeltAfterHeal)))
		if n := len(out); n > 0 && f.begin <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, until)
			continue
		}
		out = append(out, interval{f.begin, until})
	}
	return out
}

// harmFrom is since when a fault was on that can explain what became of a grant, the first that was on at t, may
// still have been felt then, or came later; never where there is none.
func (l *faultLog) harmFrom(g *grant, t int64) int64 {
	return min(l.ownHarmFrom(g, t), harmIn(l.elsewhere, t))
}

// ownHarmFrom is the same of the faults that name the grant's client. A kill that was over before the grant was asked for
// was of another process: what that had is gone with it, and the service owes the new one what it owes any client. Equal times
// excuse.
func (l *faultLog) ownHarmFrom(g *grant, t int64) int64 {
	return min(harmIn(l.harm[g.process], t), l.killedFrom(g))
}

// killedFrom is when the first kill of its client began that was on when the grant was asked for, or later; never where
// there is none.
func (l *faultLog) killedFrom(g *grant) int64 {
	list := l.kills[g.process]
	i, _ := slices.BinarySearchFunc(list, g.invT, func(k kill, t int64) int { return cmp.Compare(k.reach, t) })
	if i == len(list) {
		return never
	}
	return list[i].from
}

// harmIn is when the first of the intervals began that had not ended by t; never where there is none.
func harmIn(list []interval, t int64) int64 {
	i, _ := slices.BinarySearchFunc(list, t, func(h interval, t int64) int { return cmp.Compare(h.to, t) })
	if i == len(list) {
		return never
	}
	return list[i].from
}

// droppers lists in place of each clock that was set the times at which it was set forward, by begin.
func droppers(list []*fault) []*fault {
	var out []*fault
	for _, f := range list {
		if !f.setOnly() {
			out = append(out, f)
			continue
		}
		for _, s := range f.forward() {
			out = append(out, &fault{begin: s.from, end: s.to})
		}
	}
	slices.SortStableFunc(out, func(a, b *fault) int { return cmp.Compare(a.begin, b.begin) })
	return out
}

// count is how many confirmed faults were on at some time in [from, to].
func (l *faultLog) count(from, to int64) int {
	over, _ := slices.BinarySearch(l.ended, from)
	return max(0, l.confirmed.begun(to)-over)
}

// was says whether a confirmed fault of the name was on at some time in [from, to], beside
// so many.
func (n *faultName) was(from, to int64, beside int) bool {
	begun, _ := slices.BinarySearchFunc(n.begin, to, func(v, t int64) int { return cmp.Or(cmp.Compare(v, t), -1) })
	over, _ := slices.BinarySearch(n.ended, from)
	return begun-over > beside
}

// first is the position of the first one, from a position on, that was on at some time in [from, to];
// -1 where there is none.
func (l *faultList) first(position int, from, to int64) int {
	if i := l.ends.first(position, from); i >= 0 && i < l.begun(to) {
		return i
	}
	return -1
}

// maybeFelt lists when cuts of the network may be felt. A sender that hears nothing
// doubles the time to its next attempt (RFC 6298, 5.5): one that was cut off for some
// seconds, or at each of its attempts, may stay silent for as many seconds after.
func maybeFelt(list []fault) []interval {
	var out []interval
	for _, f := range list { // by begin
		if !f.losesPackets() || !f.ended || f.onResource() {
			continue
		}
		if n := len(out); n == 0 || f.begin > out[n-1].to {
			out = append(out, interval{from: f.begin})
		}
		s := &out[len(out)-1]
		s.to = max(s.to, satAdd(f.end, min(f.end-s.from, int64(FeltAfterHeal))))
	}
	return out
}
