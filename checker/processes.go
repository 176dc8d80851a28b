package checker

import "github.com/picklock/picklock/history"

// proc is what is known of one process while the events are read.
type proc struct {
	history.Process[*grant]
	history.Pairing[*op]
	machine string // as its events name it
	spare   *op    // to be used for the next acquire
	latest  latestGrants
	held    []*grant // believed
	client  bool     // it has events of its own; others are only known from faults
}

var acquireID = history.OpID{F: history.Acquire}

// acquire is the acquire that is under way, nil if there is none.
func (p *proc) acquire() *op {
	o, _ := p.Open(acquireID)
	return o
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
