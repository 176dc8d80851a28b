package packetfault

import (
	"math/rand/v2"
	"time"
)

// destQueue holds the packets from a namespace to one address. The packetQueue's mutex guards it.
type destQueue struct {
	verdict func(id uint32, accept bool)

	holding  bool
	held     []packet
	messages int // among held

	muted map[flow]map[uint64]bool // by whom

	members []gateMember    // in gates
	said    map[flow]uint32 // where the next new byte of a flow begins, as long as there are members

	shape  Shape
	since  time.Time // of the shape
	busy   time.Time // until when the earlier packets take up the rate
	last   time.Time // when the last of late is due
	late   []delayed
	lost   int // by chance
	down   int // lost while the link was down
	passed int
	fate   Fate // of the latest packet
}

type delayed struct {
	packet
	due time.Time
}

// take decides about a packet that has arrived. due is when release has to be called, zero if
// never; news reports that a message waits now.
func (l *destQueue) take(p packet, now time.Time) (due time.Time, news bool) {
	l.fate = Fate{Held: l.holding, Shape: l.shape}
	switch {
	case len(l.muted[p.flow]) > 0:
		l.verdict(p.id, false)
	case l.holding:
		return time.Time{}, l.hold(p)
	case l.shape != Shape{}:
		return l.applyShape(p, now), false
	case l.shut():
		return time.Time{}, l.hold(p)
	default:
		l.pass(p)
	}
	return time.Time{}, false
}

// hold keeps a packet. One that carries no data and ends no connection passes: an opening
// connection has sent no data yet, and without acknowledgements the other end would send its
// data again.
func (l *destQueue) hold(p packet) (news bool) {
	if p.payload == 0 && !p.ends {
		l.verdict(p.id, true)
		return false
	}
	for _, q := range l.held {
		if q.flow == p.flow && q.seq == p.seq && q.payload > 0 && p.payload > 0 {
			l.verdict(p.id, false) // the same again
			return false
		}
	}
	l.held = append(l.held, p)
	if p.payload > 0 {
		l.messages++
	}
	return p.payload > 0
}

// deliver releases what waits up to the n-th message, all of it if n is -1 and no gate is
// shut, and returns how many messages it released.
func (l *destQueue) deliver(n int, accept bool) (went int) {
	for len(l.held) > 0 && went != n {
		if n < 0 && accept && l.shut() {
			break
		}
		p := l.held[0]
		l.held = l.held[1:]
		if p.payload > 0 {
			l.messages--
			went++
		}
		if accept {
			l.pass(p)
		} else {
			l.verdict(p.id, false)
		}
	}
	return went
}

// lose drops what waits with data, releases what ends a connection, and returns how many messages
// it dropped.
func (l *destQueue) lose() (lost int) {
	for _, p := range l.held {
		if p.payload > 0 {
			lost++
			l.verdict(p.id, false)
		} else {
			l.pass(p)
		}
	}
	l.held, l.messages = nil, 0
	return lost
}

// applyShape delays, drops or releases a packet as the shape says.
func (l *destQueue) applyShape(p packet, now time.Time) (due time.Time) {
	s := l.shape
	down := s.Flap > 0 && now.Sub(l.since)/s.Flap%2 == 0
	if down || s.Loss > 0 && rand.Float64() < s.Loss {
		l.fate.Down, l.fate.Lost = down, !down
		if down {
			l.down++
		} else {
			l.lost++
		}
		l.verdict(p.id, false)
		return time.Time{}
	}
	l.passed++
	at := now
	if s.Rate > 0 {
		if l.busy.Before(now) {
			l.busy = now
		}
		l.busy = l.busy.Add(time.Duration(float64(p.size) / float64(s.Rate) * float64(time.Second)))
		at = l.busy
	}
	at = at.Add(s.Delay)
	if s.Jitter > 0 {
		at = at.Add(time.Duration((2*rand.Float64() - 1) * float64(s.Jitter)))
	}
	if at.Before(l.last) { // packets do not overtake one another
		at = l.last
	}
	l.fate.Late = max(0, at.Sub(now))
	if !at.After(now) && len(l.late) == 0 && !l.shut() {
		l.pass(p)
		return time.Time{}
	}
	l.last = at
	l.late = append(l.late, delayed{p, at})
	return l.late[0].due
}

// release releases what is due, and returns when the next packet is; zero if there is none.
func (l *destQueue) release(now time.Time) (due time.Time) {
	for len(l.late) > 0 {
		if l.late[0].due.After(now) {
			return l.late[0].due
		}
		if l.shut() {
			return time.Time{} // opening the gate asks again
		}
		l.pass(l.late[0].packet)
		l.late = l.late[1:]
	}
	return time.Time{}
}

// setShape changes how bad the link is. If it gets good, late packets are released.
func (l *destQueue) setShape(s Shape, now time.Time) {
	if s == (Shape{}) {
		for _, d := range l.late {
			if l.shut() {
				l.hold(d.packet)
			} else {
				l.pass(d.packet)
			}
		}
		l.late, l.last = nil, time.Time{}
	} else if l.shape == (Shape{}) {
		l.lost, l.down, l.passed = 0, 0, 0
	}
	l.shape, l.since, l.busy = s, now, time.Time{}
}

// mute drops the packets of a flow until by lets it speak again.
func (l *destQueue) mute(f flow, by uint64) {
	if l.muted == nil {
		l.muted = map[flow]map[uint64]bool{}
	}
	if l.muted[f] == nil {
		l.muted[f] = map[uint64]bool{}
	}
	l.muted[f][by] = true
}

// unmute lets the flows speak again that nobody but by has muted.
func (l *destQueue) unmute(by uint64) {
	for f, who := range l.muted {
		if delete(who, by); len(who) == 0 {
			delete(l.muted, f)
		}
	}
}

// clear releases everything.
func (l *destQueue) clear() {
	l.members, l.holding = nil, false
	l.deliver(-1, true)
	clear(l.muted)
	l.setShape(Shape{}, time.Time{})
}

// discard drops everything that waits.
func (l *destQueue) discard() {
	for _, d := range l.late {
		l.verdict(d.id, false)
	}
	l.late = nil
	l.deliver(-1, false)
	l.clear()
}

// idle reports whether the link has no fault.
func (l *destQueue) idle() bool {
	return !l.holding && len(l.held) == 0 && len(l.late) == 0 && len(l.muted) == 0 && len(l.members) == 0 && l.shape == Shape{}
}
