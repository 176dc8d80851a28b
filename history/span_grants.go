package history

import (
	"slices"
	"strconv"
)

// namer names grants if a trace does not. It also finds the grant that an operation is about: of those that its process has not given back, the
// latest, and the latest of its key if it names one.
type namer struct {
	procs  map[string]*grantee
	passed int // operations without a grant that the trace shows
}

// grantee is what a process was granted.
type grantee struct {
	granted         int
	held            []named         // what it has not given back, in the order of its acquires
	latest          map[string]last // by key, and without a key under ""
	Pairing[string]                 // each operation's grant
}

// named is a grant of a key.
type named struct{ key, grant string }

// last is a process's latest grant, and what became of its latest acquire.
type last struct {
	grant   string
	outcome Type // "" before the first one
}

// name fills in the grant of an event; false if the trace does not show it: it is from before
// the trace, or its acquire had another outcome.
func (n *namer) name(e *Event) bool {
	if e.Process == Nemesis {
		return true
	}
	g := n.procs[e.Process]
	if g == nil {
		if n.procs == nil {
			n.procs = map[string]*grantee{}
		}
		g = &grantee{latest: map[string]last{}}
		n.procs[e.Process] = g
	}
	if e.F == Acquire {
		g.acquire(e)
		return true
	}
	if e.Grant != "" {
		g.returned(e)
		return true
	}
	// An operation is about the grant of when it was asked for.
	id := IDOf(e)
	under, open := g.Open(id)
	if e.Type == Invoke || !open {
		under = g.about(e)
	}
	if e.Type == Invoke {
		g.Invoke(id, under)
	} else {
		g.Complete(id)
	}
	e.Grant = under
	g.returned(e)
	if under != "" || g.latest[e.Key].outcome == "" && (e.F == Read || e.F == Write || e.F == Add) {
		return true // before any acquire it may be a register without a lock
	}
	if e.Type == Invoke || !open {
		n.passed++
	}
	return false
}

// acquire notes what became of an acquire. A process has several grants of one key at once only as entries of its hold, as permits or as shares. Else a new
// one takes the place of the earlier ones.
func (g *grantee) acquire(e *Event) {
	if e.Type == Invoke {
		return
	}
	for _, key := range []string{e.Key, ""} {
		g.latest[key] = last{g.latest[key].grant, e.Type}
	}
	if e.Type != OK {
		return
	}
	g.granted++
	if e.Grant == "" {
		e.Grant = e.Process + "." + strconv.Itoa(g.granted)
	}
	for _, key := range []string{e.Key, ""} {
		g.latest[key] = last{e.Grant, OK}
	}
	switch {
	case e.Mode == Nested, e.Permits > 1, e.Mode == Shared:
	case e.Mode == Downgrade:
		if i := g.top(e.Key); i >= 0 {
			g.held = slices.Delete(g.held, i, i+1)
		}
	default:
		g.held = slices.DeleteFunc(g.held, func(h named) bool { return h.key == e.Key })
	}
	g.held = append(g.held, named{e.Key, e.Grant})
}

// top is the place of the latest grant of a key, or of any if there is none, that was not given back; -1 for none.
func (g *grantee) top(key string) int {
	for i, h := range slices.Backward(g.held) {
		if key == "" || h.key == key {
			return i
		}
	}
	return -1
}

// about is the grant that an operation without one is about; "" if the trace does not show it. If nobody knows what became of the latest acquire, only a
// release is about an earlier grant: all else may be under what that acquire was given.
func (g *grantee) about(e *Event) string {
	latest := g.latest[e.Key]
	if i := g.top(e.Key); i >= 0 && (latest.outcome != Info || e.F == Release) {
		return g.held[i].grant
	}
	if latest.outcome == OK {
		return latest.grant // given back before
	}
	return ""
}

// returned notes that a grant is given back: its release was carried out, or may have been, or found nothing to give back.
func (g *grantee) returned(e *Event) {
	if e.F != Release || e.Type == Invoke || e.Type == Fail && !e.NotHeld {
		return
	}
	g.held = slices.DeleteFunc(g.held, func(h named) bool { return h.grant == e.Grant })
}
