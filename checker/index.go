package checker

import (
	"cmp"
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
)

// index is a history taken apart: operations paired, grants with all that is
// known of them, faults with their ends. It is fed event by event and keeps what
// the anomalies need of them, about a tenth of their size. Every anomaly reads it;
// none changes it.
type index struct {
	opt   Options
	last  int64 // time of the last event: the end of what is known
	seen  int   // events so far
	order place // of the last event
	// places holds the events' own numbers, where those are not 0, 1, 2, ...
	places []int64

	keys    []*lock // by name
	byKey   map[string]*lock
	lastKey *lock // the one asked for last
	ids     grantIDs
	faults  []fault // by begin
	// failures are those of the clients' own programs, by process; nil for none.
	failures map[string]*programFailures
	open     map[string][]int // faults without an end, while events are read
	reach    []int64          // per fault, the greatest end among it and all before
	effects  []*effect
	stats    Stats

	maxLease  int64 // longest lease of the run
	processes procs
	ops       slab[op]
	granted   slab[grant]
	logged    slab[effect]

	grouped      []grantGroup
	early        []earlyPair // found once, read by several anomalies
	earlyKnown   bool
	doubles      []doublePair
	doublesKnown bool
	harm         map[string][]span        // when faults were on that concern a process
	releases     map[*grant]*wrongRelease // by the grant that came of it
	unsound      map[string]bool          // keys whose tokens cannot order grants
	log          *register
}

// place is where an event stands in the history's order.
type place struct{ time, index int64 }

func (p place) before(q place) bool {
	return p.time < q.time || (p.time == q.time && p.index < q.index)
}

const never = int64(1)<<62 - 1

// newIndex takes a whole input.
func newIndex(in Input) *index {
	ix := emptyIndex(in.Options)
	ev := in.Events
	if !slices.IsSortedFunc(ev, byTime) {
		ev = slices.Clone(ev)
		slices.SortStableFunc(ev, byTime)
	}
	for i := range ev {
		ix.readEvent(&ev[i])
	}
	for i := range in.Effects {
		ix.addEffect(&in.Effects[i])
	}
	ix.finishReading()
	return ix
}

func byTime(a, b history.Event) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Index, b.Index))
}

func emptyIndex(opt Options) *index {
	ix := &index{
		opt: opt, byKey: map[string]*lock{}, open: map[string][]int{}, processes: procs{byName: map[string]*proc{}},
	}
	if ix.opt.Bound <= 0 {
		ix.opt.Bound = 5e9
	}
	ix.stats.Faults = map[string]FaultCount{}
	return ix
}

// readEvent takes the next event, in the order of time.
func (ix *index) readEvent(e *history.Event) {
	i := int32(ix.seen)
	ix.seen++
	ix.order = place{e.Time, e.Index}
	// Sums of what a file may claim must stay numbers.
	t := min(e.Time, never)
	ix.last = t
	if ix.places != nil || e.Index != int64(i) {
		for len(ix.places) < int(i) {
			ix.places = append(ix.places, int64(len(ix.places)))
		}
		ix.places = push(ix.places, e.Index)
	}
	if e.Process == history.Nemesis {
		ix.readFault(e, t)
		return
	}
	p := ix.proc(e.Process)
	p.client = true
	switch f := verbOf(e.F); {
	case f == fAcquire:
		ix.noteFailure(t, e)
		ix.readAcquire(i, t, e, p)
	case f != fNone:
		ix.readOp(i, t, f, e, p)
	case e.F == history.Lost:
		if g := ix.grantOf(e, p); g != nil && t < g.lostT {
			g.lost, g.lostT = i, t
			ix.endBelief(g, t)
		}
	}
}

// finishReading draws together what is known once all events have been read.
func (ix *index) finishReading() {
	ix.stats.Events, ix.stats.Duration = ix.seen, ix.last
	for i := range ix.faults {
		if f := &ix.faults[i]; !f.ended {
			f.end = ix.last
		}
	}
	for _, k := range ix.byKey {
		ix.keys = append(ix.keys, k)
	}
	slices.SortFunc(ix.keys, func(a, b *lock) int { return strings.Compare(a.name, b.name) })
	for _, p := range ix.processes.byName {
		p.settle()
	}
	for _, k := range ix.keys {
		sortBy(k.acquires, func(o *op) int32 { return o.inv })
		for _, list := range [][]*op{k.acquires, k.ops, k.released} {
			for _, o := range list {
				if o.endT == never {
					o.endT = ix.last
				}
				if o.typ == tInfo {
					ix.stats.Unknown++
				}
			}
		}
		for _, g := range k.grants {
			g.believedEnd = min(g.believedEnd, ix.last)
			g.findAlive()
			if !k.mutex() {
				g.token = 0 // who may hold the lock together needs no order
			}
			ix.maxLease = max(ix.maxLease, g.lease)
			if g.contested {
				ix.stats.Contested++
			}
		}
	}
	for _, p := range ix.processes.byName {
		p.open, p.latest, p.held = openOps{}, latestGrants{}, nil
	}
	slices.SortStableFunc(ix.faults, func(a, b fault) int { return cmp.Compare(a.begin, b.begin) })
	top := int64(0)
	for _, f := range ix.faults {
		top = max(top, f.end)
		ix.reach = append(ix.reach, top)
	}
	ix.log = ix.readEffects()
}

func (ix *index) key(name string) *lock {
	if k := ix.lastKey; k != nil && k.name == name {
		return k
	}
	k := ix.byKey[name]
	if k == nil {
		k = &lock{name: name}
		ix.byKey[name] = k
	}
	ix.lastKey = k
	return k
}

func (ix *index) proc(name string) *proc {
	if p := ix.processes.get(name); p != nil {
		return p
	}
	return ix.processes.add(name)
}

// at translates places into the events' numbers in the file, for proofs.
func (ix *index) at(places ...int32) []int64 {
	var out []int64
	for _, p := range places {
		if p >= 0 {
			n := int64(p)
			if ix.places != nil {
				n = ix.places[p]
			}
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
