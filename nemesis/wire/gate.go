package wire

import (
	"context"
	"fmt"
	"sync"
)

// gate lets so many messages on some ways pass, and then nothing that carries data on any
// of its ways until it is opened. As the ways of a node and those of its answers are shut
// before the last message leaves, nobody has heard of that one when it is told of.
type gate struct {
	mu     sync.Mutex
	n      int
	passed int
	open   bool
	shut   chan struct{} // closed when all have passed
	opened chan struct{}
}

func newGate(n int) *gate {
	return &gate{n: n, shut: make(chan struct{}), opened: make(chan struct{})}
}

// pass counts one message.
func (g *gate) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.passed++; g.passed == g.n {
		close(g.shut)
	}
}

// isShut says that nothing may pass.
func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.open && g.passed >= g.n
}

// unlock opens the gate for good.
func (g *gate) unlock() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		g.open = true
		close(g.opened)
	}
}

// count is how many messages have passed.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.passed
}

// await returns when the gate has shut.
func (g *gate) await(ctx context.Context) error {
	select {
	case <-g.shut:
		return nil
	case <-g.opened:
	case <-ctx.Done():
	}
	select {
	case <-g.shut: // at the same time
		return nil
	default:
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%d of %d messages passed: %w", g.count(), g.n, err)
	}
	return fmt.Errorf("the gate was opened after %d of %d messages", g.count(), g.n)
}

// post is a lane's part in a gate.
type post struct {
	gate   *gate
	counts bool // its messages are those that count
}

// shut says that a gate lets nothing pass.
func (l *lane) shut() bool {
	for _, p := range l.posts {
		if p.gate.isShut() {
			return true
		}
	}
	return false
}

// pass lets a packet go, and counts it where it says something new.
func (l *lane) pass(p packet) {
	if p.payload > 0 && len(l.posts) > 0 && l.fresh(p) {
		for _, x := range l.posts {
			if x.counts {
				x.gate.pass()
			}
		}
	}
	l.verdict(p.id, true)
}

// fresh says that a packet is none that TCP sends again.
func (l *lane) fresh(p packet) bool {
	if l.said == nil {
		l.said = map[flow]uint32{}
	}
	end := p.seq + uint32(p.payload)
	if last, ok := l.said[p.flow]; ok && int32(end-last) <= 0 {
		return false
	}
	l.said[p.flow] = end
	return true
}

// leave ends the lane's part in a gate that is open.
func (l *lane) leave(g *gate) {
	rest := l.posts[:0]
	for _, p := range l.posts {
		if p.gate != g {
			rest = append(rest, p)
		}
	}
	if l.posts = rest; len(rest) == 0 {
		l.posts, l.said = nil, nil
	}
	if !l.holding {
		l.deliver(-1, true)
	}
}
