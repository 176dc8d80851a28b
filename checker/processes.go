package checker

// proc is what is known of one process while the events are read.
type proc struct {
	name    string
	machine string   // as its events name it
	own     []*grant // its grants by the number in their ids, from 1 on; see names
	filed   int      // how many were filed by their number
	acquire *op      // open
	spare   *op      // to be used for the next one
	open    openOps
	latest  latestGrants
	recent  *grant   // the latest of all
	held    []*grant // believed
	dying   int      // kills of it that are under way
	client  bool     // it has events of its own; others are only known from faults
}

// settle files an acquire that was not granted.
func (p *proc) settle() {
	if o := p.acquire; o != nil {
		o.lock.acquires = append(o.lock.acquires, o)
		p.acquire = nil
	}
}

// opRef names an operation that is under way: by its grant, or by its lock.
type opRef struct {
	f          verb
	grant, key string
}

// openOps are a process's operations under way. There is rarely more than one,
// which then needs no table.
type openOps struct {
	ref  opRef
	one  *op
	more map[opRef]*op
}

func (s *openOps) get(ref opRef) *op {
	if s.one != nil && s.ref == ref {
		return s.one
	}
	return s.more[ref]
}

func (s *openOps) put(ref opRef, o *op) {
	if s.one != nil && s.ref != ref {
		if s.more == nil {
			s.more = map[opRef]*op{}
		}
		s.more[s.ref] = s.one
	}
	s.ref, s.one = ref, o
}

func (s *openOps) drop(ref opRef) {
	if s.one != nil && s.ref == ref {
		s.one = nil
	}
	delete(s.more, ref)
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

// procs finds processes by name: most often one of those seen a moment ago.
type procs struct {
	byName map[string]*proc
	seen   [256]*proc
}

func (s *procs) get(name string) *proc {
	slot := &s.seen[place256(name)]
	if p := *slot; p != nil && p.name == name {
		return p
	}
	p := s.byName[name]
	if p != nil {
		*slot = p
	}
	return p
}

// proc finds or makes the process of a name.
func (s *procs) proc(name string) *proc {
	if p := s.get(name); p != nil {
		return p
	}
	p := &proc{name: name}
	s.byName[name] = p
	return p
}

// isClient says that the process has events of its own.
func (s *procs) isClient(name string) bool {
	p := s.get(name)
	return p != nil && p.client
}

// place256 spreads names such as c1, c2, ... c50.
func place256(name string) uint8 {
	switch n := len(name); n {
	case 0:
		return 0
	case 1:
		return name[0]
	default:
		return name[n-1] + 10*name[n-2] + 31*uint8(n)
	}
}
