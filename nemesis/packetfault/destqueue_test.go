package packetfault

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// segment makes the headers of a packet.
func segment(flags byte, payload int) []byte {
	b := make([]byte, 40)
	b[0], b[9] = 0x45, 6
	binary.BigEndian.PutUint16(b[2:], uint16(40+payload))
	copy(b[16:], []byte{10, 0, 0, 2})
	binary.BigEndian.PutUint16(b[20:], 1000)
	binary.BigEndian.PutUint16(b[22:], 2000)
	binary.BigEndian.PutUint32(b[24:], 77)
	b[32], b[33] = 5<<4, flags
	return b
}

func TestParsePacket(t *testing.T) {
	to := netip.MustParseAddr("10.0.0.2")
	tests := []struct {
		name  string
		b     []byte
		whole uint32
		want  packet
		ok    bool
	}{
		{"data", segment(0x10, 9), 0, packet{to: to, flow: flow{1000, 2000}, seq: 77, size: 49, payload: 9}, true},
		{"acknowledgement", segment(0x10, 0), 0, packet{to: to, flow: flow{1000, 2000}, seq: 77, size: 40}, true},
		{"opening", segment(flagSYN, 0), 0, packet{to: to, flow: flow{1000, 2000}, seq: 77, size: 40, opens: true}, true},
		{"end", segment(flagFIN|0x10, 0), 0, packet{to: to, flow: flow{1000, 2000}, seq: 77, size: 40, ends: true}, true},
		{"reset", segment(flagRST, 0), 0, packet{to: to, flow: flow{1000, 2000}, seq: 77, size: 40, ends: true}, true},
		{"a train of segments", segment(0x10, 9), 70000, packet{to: to, flow: flow{1000, 2000}, seq: 77, size: 70000, payload: 69960}, true},
		{"cut short", segment(0x10, 9)[:39], 0, packet{}, false},
		{"nothing", nil, 0, packet{}, false},
		{"another protocol", append([]byte{0x45, 0, 0, 40, 0, 0, 0, 0, 0, 17}, make([]byte, 30)...), 0, packet{}, false},
		{"IPv6", append([]byte{0x60}, make([]byte, 50)...), 0, packet{}, false},
		{"no header", append([]byte{0x40, 0, 0, 40, 0, 0, 0, 0, 0, 6}, make([]byte, 30)...), 0, packet{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := parse(tt.b, tt.whole); got != tt.want || ok != tt.ok {
				t.Errorf("%+v, %v, want %+v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

// script is a destQueue whose verdicts are written down.
type script struct {
	*destQueue
	said []string
}

func newScript() *script {
	s := &script{destQueue: &destQueue{}}
	s.verdict = func(id uint32, accept bool) { s.said = append(s.said, fmt.Sprint(id, accept)) }
	return s
}

func (s *script) want(t *testing.T, said ...string) {
	t.Helper()
	if !slices.Equal(s.said, said) {
		t.Errorf("said %q, want %q", s.said, said)
	}
	s.said = nil
}

func TestLaneHolds(t *testing.T) {
	s, now := newScript(), time.Now()
	f := flow{1, 2}
	s.holding = true
	s.take(packet{id: 1, flow: f, opens: true}, now)
	s.take(packet{id: 2, flow: f}, now)
	s.want(t, "1 true", "2 true")
	s.take(packet{id: 3, flow: f, seq: 5, payload: 10}, now)
	s.take(packet{id: 4, flow: f, seq: 15, payload: 10}, now)
	s.take(packet{id: 5, flow: f, seq: 5, payload: 20}, now) // sent again
	s.want(t, "5 false")
	s.take(packet{id: 6, flow: flow{7, 2}, seq: 5, payload: 10}, now) // another connection's
	s.take(packet{id: 7, flow: f, seq: 25, ends: true}, now)
	if s.messages != 3 {
		t.Errorf("%d messages wait, want 3", s.messages)
	}
	if went := s.deliver(1, true); went != 1 {
		t.Errorf("%d messages went, want 1", went)
	}
	s.want(t, "3 true")
	s.deliver(-1, false)
	s.want(t, "4 false", "6 false", "7 false")
	s.holding = false
	s.take(packet{id: 8, flow: f, payload: 1}, now)
	s.want(t, "8 true")
	if !s.idle() {
		t.Error("not idle")
	}
}

func TestLaneShapes(t *testing.T) {
	s, now := newScript(), time.Now()
	s.setShape(Shape{Delay: 10 * time.Millisecond, Rate: 1000}, now)
	// 100 bytes take up 100 ms.
	due, _ := s.take(packet{id: 1, size: 100}, now)
	if due.Sub(now) != 110*time.Millisecond {
		t.Errorf("due after %v, want 110ms", due.Sub(now))
	}
	s.take(packet{id: 2, size: 100}, now)
	if next := s.release(now.Add(110 * time.Millisecond)); next.Sub(now) != 210*time.Millisecond {
		t.Errorf("next after %v, want 210ms", next.Sub(now))
	}
	s.want(t, "1 true")
	s.setShape(Shape{}, now)
	s.want(t, "2 true")
	s.setShape(Shape{Flap: time.Second}, now)
	s.take(packet{id: 3}, now.Add(900*time.Millisecond))
	s.take(packet{id: 4}, now.Add(1100*time.Millisecond))
	s.take(packet{id: 5}, now.Add(2100*time.Millisecond))
	s.want(t, "3 false", "4 true", "5 false")
	s.setShape(Shape{Loss: 1}, now)
	s.take(packet{id: 6}, now)
	s.want(t, "6 false")
	if s.lost != 1 || s.down != 2 || s.passed != 1 {
		t.Errorf("lost %d by chance and %d while the link was down, passed %d, want 1, 2 and 1", s.lost, s.down, s.passed)
	}
	// However different the delays, no packet overtakes another.
	s.setShape(Shape{Delay: 50 * time.Millisecond, Jitter: 50 * time.Millisecond}, now)
	for i := range 100 {
		s.take(packet{id: uint32(i)}, now)
	}
	if !slices.IsSortedFunc(s.late, func(a, b delayed) int { return a.due.Compare(b.due) }) {
		t.Error("packets overtake one another")
	}
	s.said = nil
	s.mute(flow{1, 2}, 1)
	s.take(packet{id: 200, flow: flow{1, 2}}, now)
	s.want(t, "200 false")
}

// A gate lets so many new messages pass, then nothing that carries data on any of its
// queues; what waits follows in order when it is opened.
func TestGate(t *testing.T) {
	there, back, now := newScript(), newScript(), time.Now()
	g, f := newGate(2), flow{1, 2}
	there.members, back.members = []gateMember{{g, true}}, []gateMember{{g, false}}
	there.take(packet{id: 1, flow: f, opens: true}, now)
	there.take(packet{id: 2, flow: f, seq: 1, payload: 10}, now)
	back.take(packet{id: 3, flow: flow{2, 1}, payload: 5}, now)
	there.take(packet{id: 4, flow: f, seq: 1, payload: 10}, now) // sent again
	if g.isShut() || g.count() != 1 {
		t.Errorf("shut %v after %d messages, want open after 1", g.isShut(), g.count())
	}
	there.take(packet{id: 5, flow: f, seq: 1, payload: 20}, now) // half of it sent again
	if !g.isShut() || g.await(t.Context()) != nil {
		t.Error("not shut after 2 messages")
	}
	there.want(t, "1 true", "2 true", "4 true", "5 true")
	back.want(t, "3 true")
	there.take(packet{id: 6, flow: f, seq: 21, payload: 10}, now)
	there.take(packet{id: 7, flow: f, seq: 31, ends: true}, now)
	there.take(packet{id: 8, flow: f, seq: 31}, now)
	back.take(packet{id: 9, flow: flow{2, 1}, seq: 5, payload: 5}, now)
	there.want(t, "8 true")
	back.want(t)
	// A hold that begins meanwhile keeps what waits.
	back.holding = true
	g.unlock()
	there.leave(g)
	back.leave(g)
	there.want(t, "6 true", "7 true")
	back.want(t)
	if g.count() != 2 {
		t.Errorf("%d messages passed, want 2", g.count())
	}
	if back.holding = false; back.deliver(-1, true) != 1 || !there.idle() || !back.idle() {
		t.Errorf("not idle: %+v, %+v", there.destQueue, back.destQueue)
	}
}

// On a slow link messages count as they leave, and what comes after the last is late.
func TestGateOnSlowWay(t *testing.T) {
	s, now := newScript(), time.Now()
	g := newGate(1)
	s.members = []gateMember{{g, true}}
	s.setShape(Shape{Delay: time.Second}, now)
	for i := range 3 {
		s.take(packet{id: uint32(i), seq: uint32(10 * i), payload: 10}, now)
	}
	if g.isShut() {
		t.Error("shut before anything left")
	}
	s.release(now.Add(time.Second))
	s.want(t, "0 true")
	s.setShape(Shape{}, now)
	s.want(t)
	g.unlock()
	s.leave(g)
	s.want(t, "1 true", "2 true")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newGate(1).await(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait in vain: %v", err)
	}
	early := newGate(1)
	early.unlock()
	if err := early.await(t.Context()); err == nil {
		t.Error("a gate that was opened has shut")
	}
}

// What two have muted speaks again when both have ended that.
func TestMutedByTwo(t *testing.T) {
	s, now := newScript(), time.Now()
	f := flow{1, 2}
	s.mute(f, 1)
	s.mute(f, 2)
	for range 2 { // a heal that is tried again
		s.unmute(1)
	}
	s.take(packet{id: 1, flow: f}, now)
	s.unmute(2)
	s.take(packet{id: 2, flow: f}, now)
	s.want(t, "1 false", "2 true")
	if !s.idle() {
		t.Error("not idle")
	}
}
