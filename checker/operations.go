package checker

import (
	"strings"

	"github.com/picklock/picklock/history"
)

func (r *reader) readAcquire(i int32, t int64, e *history.Event, p *proc) {
	if e.Type == history.Invoke {
		if o := p.acquire(); o != nil && o.endT == never {
			// The client was killed and came back: what became of its request,
			// nobody learnt.
			o.endT = t
			o.lock.now.open--
		}
		p.closeAcquire()
		k := r.lock(e.Key)
		if e.Mode == history.Downgrade {
			r.downgrade(i, t, p, k)
		}
		r.endHold(p, k, e, t)
		if p.spare == nil {
			p.spare = r.ops.next()
		}
		*p.spare = op{f: fAcquire, process: p.Name, lock: k, inv: i, comp: -1, invT: t, endT: never, busy: k.busyFor(e, t), shares: e.Shares(), downgrades: e.Mode == history.Downgrade}
		p.Invoke(acquireID, p.spare)
		if held := p.latest.get(k.name); e.Mode == history.Nested && held != nil {
			held.ofHold().askRenewal(p.spare) // what enters a hold again may begin its lease anew
		}
		p.spare = nil
		k.now.open++
		return
	}
	o := p.acquire()
	if o != nil && e.Key != "" && o.lock.name != e.Key {
		o = nil
	}
	if o != nil {
		o.comp, o.typ, o.failed = i, outcomeOf(e.Type), e.ClientFailed && e.Type != history.OK
		o.cancelled = e.Cancelled && e.Type == history.Fail
		if o.endT == never {
			o.lock.now.open--
		}
		o.endT = t
		if held := p.latest.get(o.lock.name); held != nil && o.typ != tInfo {
			held.ofHold().answerRenewal(o)
		}
	}
	if o != nil && o.downgrades {
		p.downgraded(o)
	}
	if e.Type != history.OK {
		if o != nil {
			p.closeAcquire()
		}
		return
	}
	k := r.lock(e.Key)
	if o != nil {
		k = o.lock
	}
	// A lease cannot begin after the answer that gave it, whatever the client says.
	g := r.granted.next()
	*g = grant{
		id: strings.Clone(e.Grant), process: p.Name, lock: k, token: max(0, e.Token), inv: -1, ok: i, okT: t,
		since: sane(e.Since, t), lease: min(e.Lease, never), lost: -1, lostT: never, believedEnd: never, askedT: never,
		mode: modeOf(e.Mode), downgraded: e.Mode == history.Downgrade, watchdog: e.Watchdog, expired: e.Expired, lingers: e.Lingers, notifies: e.Notifies,
	}
	k.learn(e)
	if o != nil {
		g.inv, g.invT, g.lo = o.inv, o.invT, o.invT
		// The grant says all that its acquire did.
		p.Complete(acquireID)
		p.spare = o
	}
	if g.lease > 0 {
		g.lo = max(g.lo, g.since)
	}
	r.endHold(p, k, e, t)
	g.contested = k.contestedBy(g, o)
	g.n = int32(len(k.grants))
	k.grants = push(k.grants, g)
	k.now.held++
	if g.mode != shared {
		k.now.exclusive++
	}
	if g.id != "" {
		r.names.add(g, p)
	}
	if g.mode == nested {
		if g.under = p.latest.get(k.name); g.under != nil {
			g.first = g.under.ofHold()
			if g.first.unsure == nil {
				g.first.unsure = new([]*op)
			}
			g.unsure = g.first.unsure // a hold has one lease
		}
	}
	p.latest.set(g)
	g.heldAt = int32(len(p.held))
	p.held = append(p.held, g)
	if p.Dying > 0 && o != nil {
		r.actsOn(p, o.invT)
	}
	if p.Dying > 0 {
		r.endBelief(g, g.okT)
	}
	r.grants++
	if r.grants == 1 {
		r.first = t
	}
	if g.inv >= 0 && e.Mode != history.Downgrade {
		r.waits.add(g.okT - g.invT)
	}
}

// sane bounds a claimed instant by the time of the event that claims it.
func sane(claimed, at int64) int64 { return max(-never, min(claimed, at)) }

// grantOf finds the grant that an event speaks of.
func (r *reader) grantOf(e *history.Event, p *proc) *grant {
	if e.Grant != "" {
		return r.names.find(e.Grant, p)
	}
	return p.latest.get(e.Key)
}

func (r *reader) readOp(i int32, t int64, f verb, e *history.Event, p *proc) {
	r.failures.note(t, e)
	if f == fRenew {
		r.asked.note(e)
	}
	id := history.IDOf(e)
	g := r.grantOf(e, p)
	if e.Type == history.Invoke {
		k := r.lockOf(g, e)
		o := r.ops.next()
		*o = op{f: f, process: p.Name, lock: k, grant: g, inv: i, comp: -1, invT: t, endT: never, value: e.Value}
		if f == fRenew {
			p.overlap(id, o)
		}
		p.Invoke(id, o)
		switch f {
		case fRelease:
			k.released = push(k.released, o)
			if g != nil && g.release == nil {
				g.release = o
				r.endBelief(g, t)
			}
		case fRenew:
			if g != nil && g.process == e.Process {
				g.askRenewal(o)
			}
		case fHolds:
		default:
			k.ops = push(k.ops, o)
		}
		return
	}
	o, _ := p.Open(id)
	if o != nil && f != fRead && e.Value != "" && e.Value != o.value {
		return // the answer to an earlier write, which has been given up
	}
	if first := p.firstRenewal(id); first != nil {
		o = first
	} else {
		p.Complete(id)
	}
	if o != nil {
		o.comp, o.endT, o.typ = i, t, outcomeOf(e.Type)
		if f == fRead {
			o.value = e.Value
		}
		if f == fRenew && o.typ != tInfo && o.grant != nil {
			o.grant.answerRenewal(o)
		}
		o.notHeld = e.NotHeld && e.Type == history.Fail
		o.heldOK = e.Held && e.Type == history.OK && g != nil && g.process == e.Process
	}
	if g == nil || e.Process != g.process {
		return
	}
	r.hear(i, t, f, e, g, o)
	switch {
	case f == fRenew && e.Type == history.OK:
		n := renewal{inv: -1, ok: i, okT: t, held: e.Held}
		if e.Lease > 0 {
			n.heldUntil = sane(e.Since, t)
			n.lease = min(e.Lease, never)
			n.until = satAdd(n.heldUntil, n.lease)
		}
		if o != nil {
			n.inv, n.invT = o.inv, o.invT
			// A keepalive's answer may have been taken for the open renew's:
			// the earlier of the two instants is sound either way.
			if e.Lease <= 0 || o.invT < n.heldUntil {
				n.heldUntil = o.invT
			}
		}
		g.addRenewal(n)
	case f == fRelease && o == nil && g.release == nil:
		// A release that nobody announced may have been sent at any time since
		// the grant: nothing after it is certain.
		g.release = r.ops.next()
		*g.release = op{f: f, process: p.Name, lock: g.lock, grant: g, inv: -1, comp: i, invT: g.okT, endT: t, typ: outcomeOf(e.Type), notHeld: e.NotHeld && e.Type == history.Fail}
		r.endBelief(g, g.okT)
	}
}

// lockOf says which lock an operation is about: its grant's.
func (r *reader) lockOf(g *grant, e *history.Event) *lock {
	if g != nil {
		return g.lock
	}
	return r.lock(e.Key)
}
