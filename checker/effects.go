package checker

// registerLog is the log of the protected resource, joined with the history.
type registerLog struct {
	keys map[string][]*effect // accepted, in their order
	// refused operations, in their order.
	refused []*effect
	reads   bool // the log has reads at all
	writes  int  // accepted
	// stray counts accepted effects that no operation of the history asked for:
	// nothing can be said of whose they are.
	stray int
	// witness is the effect whose operation was invoked last: what was answered
	// before that was carried out before it, so a whole log holds it.
	witness *effect
	// lastRead is the same among the reads.
	lastRead *effect
}

// effect is one line of the register's log.
type effect struct {
	seq   int64
	t     int64
	g     *grant
	op    *op // nil when stray
	value string
	rare  *effectRare // nil where there is nothing of the kind
	f     verb
	pos   int32 // among the accepted effects of its key
}

// effectRare is what most effects need not say: their grant says it, or it is empty.
type effectRare struct{ process, key, parent, err string }

func (e *effect) process() string {
	if e.g != nil {
		return e.g.process
	}
	return e.rare.process
}

func (e *effect) key() string {
	if e.g != nil {
		return e.g.lock.name
	}
	return e.rare.key
}

// parent is what an add extended, as the client had read it.
func (e *effect) parent() string {
	if e.rare == nil {
		return ""
	}
	return e.rare.parent
}

// err is why the register refused it; empty where it was accepted.
func (e *effect) err() string {
	if e.rare == nil {
		return ""
	}
	return e.rare.err
}

func (e *effect) writes() bool { return e.f != fRead }

// known says whose the effect is.
func (e *effect) known() bool { return e.g != nil && e.op != nil }
