package checker

import (
	"errors"
	"slices"

	"github.com/picklock/picklock/history"
)

// Letting go. Of a lock that is handed from one client to the next, most grants can have
// no part in any anomaly, whatever comes: nobody else had the lock meanwhile, they were
// released, their token is greater than all before, and none that can still come is
// smaller. They are counted and let go while the history is read (ordinary says which).
// All others are kept, and the finders look at those as if there were no others: that the
// verdict is the same is what letgo_test.go tests.
//
// What is decided rests on nothing coming later that says more of a grant that is done
// with: a second release, a renewal, a token that was given before. If it does come, the
// history has to be read again, with all of it kept (errLetGo).

// errLetGo says that something came which speaks of what was let go.
var errLetGo = errors.New("what was let go is needed")

// letting says how a reader lets go; a nil one keeps all.
type letting struct {
	opt    Options
	batch  int                  // how much of a lock is waited for before it is looked through
	sample func(grant int) bool // grants that are kept for the second opinion
	stuck  int                  // for how many grants a request is waited for
	undone bool                 // see errLetGo
	used   bool                 // something was decided

	faults *faultLog // as they are now
	open   bool      // some were on when that was made
	looked int       // after how many events that was
	ttl    tenure

	looks  int
	after  int // grants let go that came after the fault that ended last
	healed int64
}

// remains is what is left of a lock's grants and acquires that were let go, and how far it
// has been looked through.
type remains struct {
	grants, contested int
	tokens            int  // grants with one
	succeeded         bool // one with a token came for certain after another
	maxLease          int64
	held, asked       int    // see askedWhileHeld
	busy              []span // see busy; those that no gap of more than the bound parts are one

	decided, released, acquires int // how many of the lock's lists were looked through and stay
	next                        int // how many there have to be for the next look
	asking                      []asking
	lastOK                      int64   // of the latest grant
	reach                       int64   // until when those that are decided had the lock, at most
	top, topLet                 int64   // the greatest token of those decided, and of those let go
	fenced                      bool    // there was a grant with a token
	first                       int64   // ok of the first of those
	firm, word                  []piece // the latest of those decided; see certainPieces
	renewed                     bool    // one of those let go was
}

// asking is an acquire that was under way when it was last looked at.
type asking struct {
	p   *proc
	inv int32
}

// letBlock is how many records stay as long as one of them does.
const letBlock = 16

// sampled keeps the first grants of a history, and fewer and fewer later ones, in stretches.
func sampled(grant int) bool {
	n := grant / windowSize
	return n < 16 || n&(n-1) == 0
}

// newLetting is nil where what was asked needs all of a history.
func newLetting(opt Options, effects bool) *letting {
	if effects || opt.Skew > 0 || opt.Fair > 0 {
		return nil
	}
	if opt.Bound <= 0 {
		opt.Bound = defaultBound
	}
	return &letting{opt: opt, batch: 512, sample: sampled, stuck: 1 << 14, healed: -1}
}

// anew is the same for another reader.
func (l *letting) anew() *letting {
	if l == nil {
		return nil
	}
	return &letting{opt: l.opt, batch: l.batch, sample: l.sample, stuck: l.stuck, healed: -1}
}

// asked notes who asks for a lock.
func (l *letting) asked(k *lock, p *proc) {
	if l != nil {
		k.gone.asking = append(k.gone.asking, asking{p, p.acquire.inv})
	}
}

// stillAsking drops those that were answered.
func (k *lock) stillAsking() {
	k.gone.asking = slices.DeleteFunc(k.gone.asking, func(a asking) bool {
		return a.p.acquire == nil || a.p.acquire.inv != a.inv
	})
}

// horizon is when the first request was sent that is under way: it may have been granted
// since then. One that is under way for too long is not waited for.
func (l *letting) horizon(k *lock) int64 {
	k.stillAsking()
	if len(k.gone.asking) == 0 || len(k.grants)-k.gone.decided > l.stuck {
		return never
	}
	return k.gone.asking[0].p.acquire.invT
}

// isGone says that an event speaks of a grant that was let go.
func (l *letting) isGone(e *history.Event) bool {
	if l == nil || e.Grant == "" || !l.used {
		return false
	}
	l.undone = true
	return true
}

// meet takes in a client's first event. A fault that named it before was thought to be on
// the service.
func (l *letting) meet(r *reader, p *proc) {
	if l == nil || !l.used {
		return
	}
	if r.faults.named[p.name] {
		l.undone = true
	}
}

// granted looks at a new grant before it is one of its lock's.
func (l *letting) granted(r *reader, g *grant) {
	if l == nil {
		return
	}
	k, m := g.lock, &g.lock.gone
	if l.sample(r.grants) {
		g.kept = true
	}
	if m.decided+m.grants > 0 && (!k.mutex() || (g.token > 0 && g.token <= m.topLet)) {
		l.undone = true
	}
	// A stretch without a grant may prove a deadlock, with who waited then and who had
	// the lock last.
	if g.okT-m.lastOK > l.opt.Bound {
		g.kept = true
		if n := len(k.grants); n > 0 {
			k.grants[n-1].kept = true
		}
		for _, o := range k.acquires[m.acquires:] {
			o.kept = o.kept || o.endT > m.lastOK
		}
		k.stillAsking()
		for _, a := range m.asking {
			a.p.acquire.kept = true
		}
	}
	m.lastOK = g.okT
	if g.token > 0 && !m.fenced {
		m.fenced, m.first = true, g.okT
	}
}

// look looks through a lock when enough of it has come together.
func (l *letting) look(r *reader, k *lock) {
	if l == nil || !k.mutex() || len(k.grants)+len(k.acquires) < max(k.gone.next, l.batch) {
		return
	}
	if l.stale(r) && r.seen-l.looked < len(r.faults.list) {
		return // making a log of very many faults has to pay
	}
	l.letGo(r, k)
	m := &k.gone
	kept := m.decided + m.acquires
	m.next = kept + max(l.batch, 2*(len(k.grants)+len(k.acquires)-kept))
}
