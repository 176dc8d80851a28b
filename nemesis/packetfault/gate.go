package packetfault

import (
	"context"
	"fmt"
	"sync"
)

// gate lets so many messages on some links pass, and then nothing that carries data on any
// of them until it is opened. The links there and back are shut before the last message
// leaves, so that no receiver has answered it when await returns.
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

// isShut reports whether nothing may pass.
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

// gateMember is a destQueue's part in a gate.
type gateMember struct {
	gate   *gate
	counts bool // its messages are those that count
}

// shut reports whether a gate lets nothing pass.
func (l *destQueue) shut() bool {
	for _, p := range l.members {
		if p.gate.isShut() {
			return true
		}
	}
	return false
}

// pass releases a packet, and counts it if it has new data.
func (l *destQueue) pass(p packet) {
	if p.payload > 0 && len(l.members) > 0 && l.fresh(p) {
		for _, x := range l.members {
			if x.counts {
				x.gate.pass()
			}
		}
	}
	l.verdict(p.id, true)
}

// fresh reports whether a packet is not one that TCP sends again.
func (l *destQueue) fresh(p packet) bool {
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

// leave ends the queue's part in a gate that is open.
func (l *destQueue) leave(g *gate) {
	rest := l.members[:0]
	for _, p := range l.members {
		if p.gate != g {
			rest = append(rest, p)
		}
	}
	if l.members = rest; len(rest) == 0 {
		l.members, l.said = nil, nil
	}
	if !l.holding {
		l.deliver(-1, true)
	}
}
