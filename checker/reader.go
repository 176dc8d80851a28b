package checker

import (
	"slices"

	"github.com/picklock/picklock/history"
)

// reader takes a history apart, event by event: operations paired, grants with all that
// is known of them, faults with their ends. It keeps what the anomalies need of the
// events, about a tenth of their size. What it read, analysis draws together.
type reader struct {
	began    int64    // time of the first event
	last     int64    // time of the last event: the end of what is known
	seen     int      // events so far
	order    position // of the last event
	refs     eventNumbers
	locks    map[string]*lock
	lastLock *lock // the one asked for last
	names    names
	faults   faultReader
	failures failures
	refusals refusals
	asked    renewalsAsked
	waits    waitTimes
	effects  []*effect
	grants   int
	first    int64 // time of the first grant

	ops     slab[op]
	granted slab[grant]
	logged  slab[effect]
}

// position is where an event stands in the history's order.
type position struct{ time, index int64 }

func (p position) before(q position) bool {
	return p.time < q.time || (p.time == q.time && p.index < q.index)
}

const never = int64(1)<<62 - 1

func newReader() *reader {
	return &reader{
		locks:  map[string]*lock{},
		faults: faultReader{open: map[string][]int{}, counts: map[string]FaultCount{}},
	}
}

// readEvent takes the next event, in the order of time.
func (r *reader) readEvent(e *history.Event) {
	i := int32(r.seen)
	r.seen++
	r.order = position{e.Time, e.Index}
	// clamp: sums must not overflow
	t := min(e.Time, never)
	if i == 0 {
		r.began = t
	}
	r.last = t
	r.refs.add(i, e.Index)
	if e.Process == history.Nemesis {
		r.faults.read(e, t)
		if baseName(e.F) == "kill" {
			r.readKill(e, t)
		}
		return
	}
	p := r.names.Process(e.Process)
	p.client = true
	if e.Machine != "" {
		p.machine = e.Machine
	}
	switch f := verbOf(e.F); {
	case f == fAcquire:
		r.failures.note(t, e)
		r.refusals.note(e)
		r.readAcquire(i, t, e, p)
	case f != fNone:
		r.readOp(i, t, f, e, p)
	case e.F == history.Lost:
		if g := r.grantOf(e, p); g != nil {
			if e.NotHeld && g.process == p.Name {
				g.lock.denials = append(g.lock.denials, &statement{g: g, inv: -1, comp: i, invT: t, endT: t})
			}
			r.learnLoss(g, i, t)
		}
	}
}

// readKill takes in that processes die. Somewhere between begin and end they do, if at
// all: from begin on nothing is known of what they believe or wait for.
func (r *reader) readKill(e *history.Event, t int64) {
	for _, n := range e.Nodes {
		p := r.names.Process(n)
		switch e.Phase {
		case history.Begin:
			p.Dying++
			p.kills = append(p.kills, len(r.faults.list)-1)
		case history.End:
			p.Dying = max(0, p.Dying-1)
			for len(p.kills) > 0 && r.faults.list[p.kills[0]].ended {
				p.kills = p.kills[1:]
			}
		}
		for _, g := range slices.Clone(p.held) {
			r.endBelief(g, t)
			g.lock.leave(g)
		}
		// The acquire stays open for pairing (the kill may have missed), but
		// nobody is known to wait for it any more.
		if o := p.acquire(); o != nil && o.endT == never {
			o.endT = t
			o.lock.now.open--
		}
	}
}

// actsOn ends the kills whose end the history does not tell, if their process was granted what it asked for long after: it
// was started anew.
func (r *reader) actsOn(p *proc, asked int64) {
	p.kills = slices.DeleteFunc(p.kills, func(i int) bool {
		f := &r.faults.list[i]
		if asked < satAdd(f.begin, inFlight) {
			return false
		}
		if !f.ended {
			f.end, f.healing, f.ended = asked-1, f.begin, true // before it asked: equal times excuse
		}
		p.Dying = max(0, p.Dying-1)
		return true
	})
}

// addEffect takes the next line of the log, after all events. Whose it is can be said at
// once, by its grant; which operation asked for it, only when all events have been read.
func (r *reader) addEffect(h *history.Effect) {
	e := r.logged.next()
	*e = effect{seq: h.Seq, t: h.Time, value: h.Value, f: verbOf(h.F)}
	if !r.names.ambiguous(h.Grant) {
		e.g = r.names.find(h.Grant, r.names.Known(h.Process))
	}
	if e.g != nil && (e.g.process != h.Process || e.g.lock.name != h.Key) {
		e.g = nil
	}
	if e.g == nil || h.Parent != "" || h.Error != "" {
		e.rare = &effectRare{h.Process, h.Key, h.Parent, h.Error}
	}
	r.effects = push(r.effects, e)
}

// lock finds or makes the lock of a name.
func (r *reader) lock(name string) *lock {
	if k := r.lastLock; k != nil && k.name == name {
		return k
	}
	k := r.locks[name]
	if k == nil {
		k = &lock{name: name, now: &occupancy{}}
		r.locks[name] = k
	}
	r.lastLock = k
	return k
}
