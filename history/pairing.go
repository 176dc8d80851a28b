package history

// OpID says which operation of a process a completion is to. It has one acquire under way, and
// one operation of each kind under each grant, or on each key if no grant is named.
type OpID struct{ F, Grant, Key string }

// IDOf is the operation that an event invokes or completes.
func IDOf(e *Event) OpID {
	switch {
	case e.F == Acquire:
		return OpID{F: Acquire}
	case e.Grant != "":
		return OpID{F: e.F, Grant: e.Grant}
	}
	return OpID{F: e.F, Key: e.Key}
}

// Pairing joins the completions of one process with their invokes. O is what its user keeps of
// an operation that is under way. There is rarely more than one, which needs no table. Its zero
// value is ready for use.
type Pairing[O any] struct {
	id   OpID
	one  O
	open bool // one is under way
	more map[OpID]O
}

// Invoke notes an operation, in place of an earlier one of the same name.
func (p *Pairing[O]) Invoke(id OpID, o O) {
	if p.open && p.id != id {
		if p.more == nil {
			p.more = map[OpID]O{}
		}
		p.more[p.id] = p.one
	}
	p.id, p.one, p.open = id, o, true
}

// Open is the operation that is under way; false if there is none.
func (p *Pairing[O]) Open(id OpID) (O, bool) {
	if p.open && p.id == id {
		return p.one, true
	}
	o, ok := p.more[id]
	return o, ok
}

// Complete forgets an operation.
func (p *Pairing[O]) Complete(id OpID) {
	if p.open && p.id == id {
		var none O
		p.one, p.open = none, false
	}
	if len(p.more) > 0 {
		delete(p.more, id)
	}
}

// Len is how many operations are under way.
func (p *Pairing[O]) Len() int {
	n := len(p.more)
	if _, old := p.more[p.id]; p.open && !old {
		n++
	}
	return n
}
