package checker

import "github.com/picklock/picklock/history"

// proc is what is known of one process while the events are read.
type proc struct {
	history.Process[*grant]
	history.Pairing[*op]
	machine string // as its events name it
	spare   *op    // to be used for the next acquire
	// renewing are renewals of a grant that are under way beside the latest, by their invokes.
	renewing map[history.OpID][]*op
	latest   latestGrants
	held     []*grant // believed
	client   bool     // it has events of its own; others are only known from faults
	kills    []int    // positions of the kills of it that had no end so far
}

var acquireID = history.OpID{F: history.Acquire}

// acquire is the acquire that is under way, nil if there is none.
func (p *proc) acquire() *op {
	o, _ := p.Open(acquireID)
	return o
}

// overlap notes that a renewal is asked for, while another one of the same grant may be under way. Which of two an answer is to, nobody
// knows: each was asked for when the first was, at the earliest.
func (p *proc) overlap(id history.OpID, o *op) {
	old, open := p.Open(id)
	if !open {
		return
	}
	if p.renewing == nil {
		p.renewing = map[history.OpID][]*op{}
	}
	p.renewing[id] = append(p.renewing[id], old)
	o.invT = old.invT
}

// firstRenewal takes the first of several renewals that are under way; nil where there are not several.
func (p *proc) firstRenewal(id history.OpID) *op {
	list := p.renewing[id]
	if len(list) == 0 {
		return nil
	}
	if p.renewing[id] = list[1:]; len(list) == 1 {
		delete(p.renewing, id)
	}
	return list[0]
}

// closeAcquire files an acquire that was not granted.
func (p *proc) closeAcquire() {
	if o := p.acquire(); o != nil {
		if !o.downgrades { // its process had the lock, and waited for nobody
			o.lock.acquires = append(o.lock.acquires, o)
		}
		p.Complete(acquireID)
	}
}

// latestGrants are a process's latest grants, one for each lock; most have to do
// with one lock only.
type latestGrants struct {
	one  *grant
	more map[string]*grant // by lock
}

func (s *latestGrants) get(key string) *grant {
	if s.one != nil && s.one.lock.name == key {
		return s.one
	}
	return s.more[key]
}

func (s *latestGrants) set(g *grant) {
	if s.one != nil && s.one.lock != g.lock {
		if s.more == nil {
			s.more = map[string]*grant{}
		}
		s.more[s.one.lock.name] = s.one
	}
	s.one = g
}
