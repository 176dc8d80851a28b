package checker

import (
	"cmp"
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
)

// index is a history taken apart: operations paired, grants with all that is
// known of them, faults with their ends. Every anomaly reads it; none changes it.
type index struct {
	ev      []history.Event
	effects []history.Effect
	opt     Options
	last    int64 // time of the last event: the end of what is known

	keys   []*keyIndex // by name
	byKey  map[string]*keyIndex
	grants map[string]*grant // by id
	dup    map[string]bool   // ids that were given twice: effects cannot name them
	faults []fault           // by begin
	reach  []int64           // per fault, the greatest end among it and all before
	stats  Stats

	maxLease  int64            // longest lease of the run
	processes map[string]*proc // by name

	early      []earlyPair // found once, read by several anomalies
	earlyKnown bool
	releases   map[*grant]*wrongRelease // by the grant that came of it
	unsound    map[string]bool          // keys whose tokens cannot order grants
	log        *register
}

// keyIndex is all that concerns one lock.
type keyIndex struct {
	name     string
	grants   []*grant // by the time of their ok
	acquires []*op    // by invoke
	released []*op    // releases, by invoke
	ops      []*op    // reads, writes and adds, by invoke

	open, held int // while the events are read: acquires open, grants believed held
}

// op is an operation: an invoke and its completion.
type op struct {
	f       string
	process string
	key     string
	grant   *grant // nil for an acquire that was not granted
	inv     int32  // place in index.ev, -1 where the history has no invoke
	comp    int32  // place of the completion, -1 where there is none
	invT    int64
	endT    int64 // completion; else when the client was gone; else the history's end
	typ     history.Type
	value   string
	heldOK  bool // ok release by the grant's own process: the service confirmed it
}

// grant is one successful acquire.
type grant struct {
	id, process, key string
	token            int64
	inv, ok          int32 // places of the acquire's events; inv -1 where there is none
	invT, okT        int64
	// lo is the earliest instant at which the service can have granted: the
	// acquire's invoke, or since where that is later.
	lo           int64
	since, lease int64
	renewals     []renewal
	release      *op // the first one
	lost         int32
	lostT        int64

	believedEnd int64 // first of release's invoke, lost, kill, next acquire, end
	contested   bool

	pieces []span // when its lease was certainly alive; see lease.go
	// promised is the end of the last promise, before a release or loss cut it.
	promised int64
}

// renewal is one ok renew.
type renewal struct {
	inv, ok   int32 // inv -1 for a renewal that the client library made by itself
	invT, okT int64
	until     int64 // since + lease; 0 where it has no lease
	held      bool
	heldUntil int64 // the grant was in force until here, by the service's own word
}

type proc struct {
	acquire *op            // open
	open    map[string]*op // by f and grant
	latest  map[string]*grant
	held    []*grant // believed
	dying   int      // kills of it that are under way
	client  bool     // it has events of its own; others are only known from faults
}

const never = int64(1)<<62 - 1

func newIndex(in Input) *index {
	ev := in.Events
	if !slices.IsSortedFunc(ev, byTime) {
		ev = slices.Clone(ev)
		slices.SortStableFunc(ev, byTime)
	}
	// Sums of what a file may claim must stay numbers.
	if n := len(ev); n > 0 && ev[n-1].Time > never {
		ev = slices.Clone(ev)
		for i := range ev {
			ev[i].Time = min(ev[i].Time, never)
		}
	}
	ix := &index{
		ev: ev, effects: in.Effects, opt: in.Options,
		byKey: map[string]*keyIndex{}, grants: map[string]*grant{}, dup: map[string]bool{},
		processes: map[string]*proc{},
	}
	if ix.opt.Bound <= 0 {
		ix.opt.Bound = 5e9
	}
	ix.stats.Events = len(ev)
	ix.stats.Faults = map[string]FaultCount{}
	if len(ev) > 0 {
		ix.last = ev[len(ev)-1].Time
		ix.stats.Duration = ix.last
	}
	ix.readEvents()
	for _, k := range ix.byKey {
		ix.keys = append(ix.keys, k)
	}
	slices.SortFunc(ix.keys, func(a, b *keyIndex) int { return strings.Compare(a.name, b.name) })
	for _, k := range ix.keys {
		for _, g := range k.grants {
			g.findAlive()
			ix.maxLease = max(ix.maxLease, g.lease)
			if g.contested {
				ix.stats.Contested++
			}
		}
	}
	slices.SortStableFunc(ix.faults, func(a, b fault) int { return cmp.Compare(a.begin, b.begin) })
	top := int64(0)
	for _, f := range ix.faults {
		top = max(top, f.end)
		ix.reach = append(ix.reach, top)
	}
	ix.log = ix.readEffects()
	return ix
}

func byTime(a, b history.Event) int {
	if a.Time != b.Time {
		return cmp.Compare(a.Time, b.Time)
	}
	return cmp.Compare(a.Index, b.Index)
}

func (ix *index) key(name string) *keyIndex {
	k := ix.byKey[name]
	if k == nil {
		k = &keyIndex{name: name}
		ix.byKey[name] = k
	}
	return k
}

func (ix *index) proc(name string) *proc {
	p := ix.processes[name]
	if p == nil {
		p = &proc{open: map[string]*op{}, latest: map[string]*grant{}}
		ix.processes[name] = p
	}
	return p
}

// readEvents pairs the events in one pass.
func (ix *index) readEvents() {
	openFaults := map[string][]int{}
	for i := range ix.ev {
		e := &ix.ev[i]
		if e.Process == history.Nemesis {
			ix.readFault(e, openFaults)
			continue
		}
		p := ix.proc(e.Process)
		p.client = true
		switch e.F {
		case history.Acquire:
			ix.readAcquire(int32(i), e, p)
		case history.Lost:
			if g := ix.grantOf(e, p); g != nil && e.Time < g.lostT {
				g.lost, g.lostT = int32(i), e.Time
				ix.endBelief(g, e.Time)
			}
		case history.Release, history.Renew, history.Read, history.Write, history.Add:
			ix.readOp(int32(i), e, p)
		}
	}
	for _, f := range ix.faults {
		if f.landed && !f.ended && f.end < ix.last {
			f.end = ix.last
		}
	}
	for _, k := range ix.byKey {
		for _, list := range [][]*op{k.acquires, k.ops, k.released} {
			for _, o := range list {
				if o.endT == never {
					o.endT = ix.last
				}
				if o.typ == history.Info {
					ix.stats.Unknown++
				}
			}
		}
		for _, g := range k.grants {
			g.believedEnd = min(g.believedEnd, ix.last)
		}
	}
}

func (ix *index) readAcquire(i int32, e *history.Event, p *proc) {
	if e.Type == history.Invoke {
		if o := p.acquire; o != nil && o.endT == never {
			// The client was killed and came back: what became of its request,
			// nobody learnt.
			o.endT = e.Time
			ix.key(o.key).open--
		}
		if g := p.latest[e.Key]; g != nil {
			ix.endBelief(g, e.Time)
		}
		k := ix.key(e.Key)
		o := &op{f: e.F, process: e.Process, key: e.Key, inv: i, comp: -1, invT: e.Time, endT: never, typ: history.Info}
		if k.held > 0 {
			o.value = "held" // somebody had it when this client asked
		}
		k.open++
		k.acquires = append(k.acquires, o)
		p.acquire = o
		return
	}
	o := p.acquire
	if o != nil && e.Key != "" && o.key != e.Key {
		o = nil
	}
	if o != nil {
		p.acquire = nil
		o.comp, o.typ = i, e.Type
		if o.endT == never {
			ix.key(o.key).open--
		}
		o.endT = e.Time
	}
	if e.Type != history.OK {
		return
	}
	// A lease cannot begin after the answer that gave it, whatever the client says.
	g := &grant{
		id: e.Grant, process: e.Process, key: e.Key, token: max(0, e.Token), inv: -1, ok: i, okT: e.Time,
		since: sane(e.Since, e.Time), lease: min(e.Lease, never), lost: -1, lostT: never, believedEnd: never,
	}
	if o != nil {
		g.key, g.inv, g.invT, g.lo = o.key, o.inv, o.invT, o.invT
		o.grant = g
	}
	if g.lease > 0 {
		g.lo = max(g.lo, g.since)
	}
	if old := p.latest[g.key]; old != nil {
		ix.endBelief(old, e.Time)
	}
	k := ix.key(g.key)
	g.contested = k.open > 0 || (o != nil && o.value == "held")
	k.grants = append(k.grants, g)
	k.held++
	if g.id != "" {
		if ix.grants[g.id] != nil {
			ix.dup[g.id] = true
		}
		ix.grants[g.id] = g
	}
	p.latest[g.key] = g
	p.held = append(p.held, g)
	if p.dying > 0 {
		ix.endBelief(g, g.okT)
	}
	ix.stats.Grants++
	if ix.stats.Grants == 1 {
		ix.stats.FirstGrant = e.Time
	}
}

// sane bounds a claimed instant by the time of the event that claims it.
func sane(claimed, told int64) int64 { return max(-never, min(claimed, told)) }

// grantOf finds the grant that an event speaks of.
func (ix *index) grantOf(e *history.Event, p *proc) *grant {
	if e.Grant != "" {
		return ix.grants[e.Grant]
	}
	return p.latest[e.Key]
}

func (ix *index) endBelief(g *grant, t int64) {
	if g.believedEnd != never {
		return
	}
	g.believedEnd = t
	ix.key(g.key).held--
	p := ix.proc(g.process)
	if i := slices.Index(p.held, g); i >= 0 {
		p.held = slices.Delete(p.held, i, i+1)
	}
}

func (ix *index) readOp(i int32, e *history.Event, p *proc) {
	ref := e.Grant
	if ref == "" {
		ref = "\x00" + e.Key
	}
	ref = e.F + "\x00" + ref
	g := ix.grantOf(e, p)
	if e.Type == history.Invoke {
		o := &op{f: e.F, process: e.Process, key: e.Key, grant: g, inv: i, comp: -1, invT: e.Time, endT: never, typ: history.Info, value: e.Value}
		if g != nil {
			o.key = g.key
		}
		p.open[ref] = o
		switch e.F {
		case history.Release:
			k := ix.key(o.key)
			k.released = append(k.released, o)
			if g != nil && g.release == nil {
				g.release = o
				ix.endBelief(g, e.Time)
			}
		case history.Renew:
		default:
			k := ix.key(o.key)
			k.ops = append(k.ops, o)
		}
		return
	}
	o := p.open[ref]
	if o != nil && e.F != history.Read && e.Value != "" && e.Value != o.value {
		return // the answer to an earlier write, which has been given up
	}
	delete(p.open, ref)
	if o != nil {
		o.comp, o.endT, o.typ = i, e.Time, e.Type
		if e.F == history.Read {
			o.value = e.Value
		}
		o.heldOK = e.Held && e.Type == history.OK && g != nil && g.process == e.Process
	}
	if g == nil || e.Process != g.process {
		return
	}
	switch {
	case e.F == history.Renew && e.Type == history.OK:
		r := renewal{inv: -1, ok: i, okT: e.Time, held: e.Held}
		if e.Lease > 0 {
			r.heldUntil = sane(e.Since, e.Time)
			r.until = satAdd(r.heldUntil, min(e.Lease, never))
		}
		if o != nil {
			r.inv, r.invT = o.inv, o.invT
			// A keepalive's answer may have been taken for the open renew's:
			// the earlier of the two instants is sound either way.
			if e.Lease <= 0 || o.invT < r.heldUntil {
				r.heldUntil = o.invT
			}
		}
		g.renewals = append(g.renewals, r)
	case e.F == history.Release && o == nil && g.release == nil:
		// A release that nobody announced may have been sent at any time since
		// the grant: nothing after it is certain.
		g.release = &op{f: e.F, process: e.Process, key: g.key, grant: g, inv: -1, comp: i, invT: g.okT, endT: e.Time, typ: e.Type}
		ix.endBelief(g, g.okT)
	}
}

// index of an event in the file, for proofs.
func (ix *index) at(places ...int32) []int64 {
	var out []int64
	for _, p := range places {
		if p >= 0 {
			out = append(out, ix.ev[p].Index)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
