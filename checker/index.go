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

	keys    []*keyIndex // by name
	byKey   map[string]*keyIndex
	grants  map[string]*grant // by id
	dup     map[string]bool   // ids that were given twice: effects cannot name them
	faults  []fault           // by begin
	open    map[string][]int  // faults without an end, while events are read
	reach   []int64           // per fault, the greatest end among it and all before
	effects []*effect
	stats   Stats

	maxLease  int64            // longest lease of the run
	processes map[string]*proc // by name
	ops       slab[op]
	granted   slab[grant]
	logged    slab[effect]

	grouped    []grantGroup
	early      []earlyPair // found once, read by several anomalies
	earlyKnown bool
	releases   map[*grant]*wrongRelease // by the grant that came of it
	unsound    map[string]bool          // keys whose tokens cannot order grants
	log        *register
}

// place is where an event stands in the history's order.
type place struct{ time, index int64 }

func (p place) before(q place) bool {
	return p.time < q.time || (p.time == q.time && p.index < q.index)
}

// slab hands out records from blocks, which costs the garbage collector less than
// one allocation each.
type slab[T any] struct{ block []T }

func (s *slab[T]) add(v T) *T {
	if len(s.block) == cap(s.block) {
		s.block = make([]T, 0, min(512, max(16, 2*cap(s.block))))
	}
	s.block = append(s.block, v)
	return &s.block[len(s.block)-1]
}

// verb is what an operation does, outcome what became of it: history's words in
// one byte each.
type verb uint8

const (
	fNone verb = iota
	fAcquire
	fRelease
	fRenew
	fRead
	fWrite
	fAdd
)

func verbOf(f string) verb {
	switch f {
	case history.Acquire:
		return fAcquire
	case history.Release:
		return fRelease
	case history.Renew:
		return fRenew
	case history.Read:
		return fRead
	case history.Write:
		return fWrite
	case history.Add:
		return fAdd
	}
	return fNone
}

func (f verb) String() string {
	return [...]string{"", history.Acquire, history.Release, history.Renew, history.Read, history.Write, history.Add}[f]
}

type outcome uint8

const (
	tInfo outcome = iota
	tOK
	tFail
)

func outcomeOf(t history.Type) outcome {
	switch t {
	case history.OK:
		return tOK
	case history.Fail:
		return tFail
	}
	return tInfo
}

// keyIndex is all that concerns one lock.
type keyIndex struct {
	name     string
	grants   []*grant // by the time of their ok
	acquires []*op    // that were not granted, by invoke
	released []*op    // releases, by invoke
	ops      []*op    // reads, writes and adds, by invoke

	open, held int // while the events are read: acquires open, grants believed held
}

// op is an operation: an invoke and its completion.
type op struct {
	grant   *grant // nil for an acquire that was not granted
	lock    *keyIndex
	process string
	value   string
	invT    int64
	endT    int64   // completion; else when the client was gone; else the history's end
	inv     int32   // place of the invoke, -1 where the history has none
	comp    int32   // place of the completion, -1 where there is none
	eff     *effect // the first one that it had in the register
	f       verb
	typ     outcome
	heldOK  bool // ok release by the grant's own process: the service confirmed it
	busy    bool // acquire: somebody had the lock when this client asked
}

// grant is one successful acquire.
type grant struct {
	id, process string
	lock        *keyIndex
	token       int64
	inv, ok     int32 // places of the acquire's events; inv -1 where there is none
	invT, okT   int64
	// lo is the earliest instant at which the service can have granted: the
	// acquire's invoke, or since where that is later.
	lo           int64
	since, lease int64
	renewed      *[]renewal // nil where there is none
	release      *op        // the first one
	lost         int32
	lostT        int64

	believedEnd int64 // first of release's invoke, lost, kill, next acquire, end
	n           int32 // place among the grants of its lock
	contested   bool

	// When its lease was certainly alive; see lease.go. One stretch of time is all
	// that most grants have.
	one    [1]span
	pieceN uint8
	many   *[]span
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
	name    string
	acquire *op // open
	spare   *op // to be used for the next one
	open    map[openOp]*op
	latest  map[string]*grant // by key
	recent  *grant            // the latest of all
	held    []*grant          // believed
	dying   int               // kills of it that are under way
	client  bool              // it has events of its own; others are only known from faults
}

// openOp names an operation that is under way: by its grant, or by its lock.
type openOp struct {
	f          verb
	grant, key string
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
		opt: opt, byKey: map[string]*keyIndex{}, grants: map[string]*grant{}, dup: map[string]bool{},
		processes: map[string]*proc{}, open: map[string][]int{},
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
		ix.places = append(ix.places, e.Index)
	}
	if e.Process == history.Nemesis {
		ix.readFault(e, t)
		return
	}
	p := ix.proc(e.Process)
	p.client = true
	switch f := verbOf(e.F); {
	case f == fAcquire:
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
	slices.SortFunc(ix.keys, func(a, b *keyIndex) int { return strings.Compare(a.name, b.name) })
	for _, p := range ix.processes {
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
			ix.maxLease = max(ix.maxLease, g.lease)
			if g.contested {
				ix.stats.Contested++
			}
		}
	}
	for _, p := range ix.processes {
		p.open, p.latest, p.held = nil, nil, nil
	}
	slices.SortStableFunc(ix.faults, func(a, b fault) int { return cmp.Compare(a.begin, b.begin) })
	top := int64(0)
	for _, f := range ix.faults {
		top = max(top, f.end)
		ix.reach = append(ix.reach, top)
	}
	ix.log = ix.readEffects()
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
		p = &proc{name: name, open: map[openOp]*op{}, latest: map[string]*grant{}}
		ix.processes[name] = p
	}
	return p
}

func (ix *index) readAcquire(i int32, t int64, e *history.Event, p *proc) {
	if e.Type == history.Invoke {
		if o := p.acquire; o != nil && o.endT == never {
			// The client was killed and came back: what became of its request,
			// nobody learnt.
			o.endT = t
			o.lock.open--
		}
		p.settle()
		if g := p.latest[e.Key]; g != nil {
			ix.endBelief(g, t)
		}
		k := ix.key(e.Key)
		o := op{f: fAcquire, process: p.name, lock: k, inv: i, comp: -1, invT: t, endT: never, busy: k.held > 0}
		if p.spare == nil {
			p.spare = ix.ops.add(o)
		}
		*p.spare = o
		p.acquire, p.spare = p.spare, nil
		k.open++
		return
	}
	o := p.acquire
	if o != nil && e.Key != "" && o.lock.name != e.Key {
		o = nil
	}
	if o != nil {
		o.comp, o.typ = i, outcomeOf(e.Type)
		if o.endT == never {
			o.lock.open--
		}
		o.endT = t
	}
	if e.Type != history.OK {
		if o != nil {
			p.settle()
		}
		return
	}
	k := ix.key(e.Key)
	if o != nil {
		k = o.lock
	}
	// A lease cannot begin after the answer that gave it, whatever the client says.
	g := ix.granted.add(grant{
		id: e.Grant, process: p.name, lock: k, token: max(0, e.Token), inv: -1, ok: i, okT: t,
		since: sane(e.Since, t), lease: min(e.Lease, never), lost: -1, lostT: never, believedEnd: never,
	})
	if o != nil {
		g.inv, g.invT, g.lo = o.inv, o.invT, o.invT
		// The grant says all that its acquire did.
		p.acquire, p.spare = nil, o
	}
	if g.lease > 0 {
		g.lo = max(g.lo, g.since)
	}
	if old := p.latest[k.name]; old != nil {
		ix.endBelief(old, t)
	}
	g.contested = k.open > 0 || (o != nil && o.busy)
	g.n = int32(len(k.grants))
	k.grants = append(k.grants, g)
	k.held++
	if g.id != "" {
		if ix.grants[g.id] != nil {
			ix.dup[g.id] = true
		}
		ix.grants[g.id] = g
	}
	p.latest[k.name] = g
	p.recent = g
	p.held = append(p.held, g)
	if p.dying > 0 {
		ix.endBelief(g, g.okT)
	}
	ix.stats.Grants++
	if ix.stats.Grants == 1 {
		ix.stats.FirstGrant = t
	}
}

// settle files an acquire that was not granted.
func (p *proc) settle() {
	if o := p.acquire; o != nil {
		o.lock.acquires = append(o.lock.acquires, o)
		p.acquire = nil
	}
}

// sane bounds a claimed instant by the time of the event that claims it.
func sane(claimed, told int64) int64 { return max(-never, min(claimed, told)) }

// grantOf finds the grant that an event speaks of.
func (ix *index) grantOf(e *history.Event, p *proc) *grant {
	if e.Grant != "" {
		if g := p.recent; g != nil && g.id == e.Grant && !ix.dup[e.Grant] {
			return g
		}
		return ix.grants[e.Grant]
	}
	return p.latest[e.Key]
}

func (ix *index) endBelief(g *grant, t int64) {
	if g.believedEnd != never {
		return
	}
	g.believedEnd = t
	g.lock.held--
	p := ix.proc(g.process)
	if i := slices.Index(p.held, g); i >= 0 {
		p.held = slices.Delete(p.held, i, i+1)
	}
}

func (ix *index) readOp(i int32, t int64, f verb, e *history.Event, p *proc) {
	ref := openOp{f, e.Grant, ""}
	if e.Grant == "" {
		ref.key = e.Key
	}
	g := ix.grantOf(e, p)
	if e.Type == history.Invoke {
		k := ix.lockOf(g, e)
		o := ix.ops.add(op{f: f, process: p.name, lock: k, grant: g, inv: i, comp: -1, invT: t, endT: never, value: e.Value})
		p.open[ref] = o
		switch f {
		case fRelease:
			k.released = append(k.released, o)
			if g != nil && g.release == nil {
				g.release = o
				ix.endBelief(g, t)
			}
		case fRenew:
		default:
			k.ops = append(k.ops, o)
		}
		return
	}
	o := p.open[ref]
	if o != nil && f != fRead && e.Value != "" && e.Value != o.value {
		return // the answer to an earlier write, which has been given up
	}
	delete(p.open, ref)
	if o != nil {
		o.comp, o.endT, o.typ = i, t, outcomeOf(e.Type)
		if f == fRead {
			o.value = e.Value
		}
		o.heldOK = e.Held && e.Type == history.OK && g != nil && g.process == e.Process
	}
	if g == nil || e.Process != g.process {
		return
	}
	switch {
	case f == fRenew && e.Type == history.OK:
		r := renewal{inv: -1, ok: i, okT: t, held: e.Held}
		if e.Lease > 0 {
			r.heldUntil = sane(e.Since, t)
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
		g.addRenewal(r)
	case f == fRelease && o == nil && g.release == nil:
		// A release that nobody announced may have been sent at any time since
		// the grant: nothing after it is certain.
		g.release = ix.ops.add(op{f: f, process: p.name, lock: g.lock, grant: g, inv: -1, comp: i, invT: g.okT, endT: t, typ: outcomeOf(e.Type)})
		ix.endBelief(g, g.okT)
	}
}

// lockOf says which lock an operation is about: its grant's.
func (ix *index) lockOf(g *grant, e *history.Event) *keyIndex {
	if g != nil {
		return g.lock
	}
	return ix.key(e.Key)
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
