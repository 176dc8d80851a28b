package packetfault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/picklock/picklock/nemesis/packetfault"
)

// After the second message nothing passes, in neither direction, and all of it follows in
// order when the gate is opened.
func TestGateShuts(t *testing.T) {
	p := newPair(t)
	questions, answers := reading(p.server), reading(p.client)
	began := time.Now()
	p.do(t, p.b, packetfault.Request{Op: packetfault.Gate, Gate: 7, N: 2})
	p.do(t, p.a, packetfault.Request{Op: packetfault.Gate, Gate: 7, N: 2, Counts: true})
	t.Logf("set up in %v", time.Since(began))
	for i := range 2 {
		if r := p.do(t, p.a, packetfault.Request{Op: packetfault.Passed, Gate: 7}); r.Messages != i {
			t.Fatalf("%d messages passed, want %d", r.Messages, i)
		}
		write(t, p.client, fmt.Sprint(i))
		if q := next(t, questions); q.text != fmt.Sprint(i) {
			t.Fatalf("question %d is %+v", i, q)
		}
		write(t, p.server, fmt.Sprint(i))
		if i == 0 {
			if a := next(t, answers); a.text != "0" {
				t.Fatalf("answer 0 is %+v", a)
			}
		}
	}
	if r := p.do(t, p.a, packetfault.Request{Op: packetfault.Shut, Gate: 7}); r.Messages != 2 {
		t.Errorf("shut after %d messages, want 2", r.Messages)
	}
	client, server := p.connect(t) // connections open, and say nothing
	write(t, p.client, "2")
	write(t, client, "new")
	select {
	case x := <-questions:
		t.Fatalf("shut, and yet %+v came", x)
	case x := <-answers:
		t.Fatalf("shut, and yet %+v came back", x)
	case x := <-reading(server):
		t.Fatalf("shut, and yet %+v came on a new connection", x)
	case <-time.After(100 * time.Millisecond):
	}
	// A hold that has come meanwhile keeps the answer.
	p.do(t, p.b, packetfault.Request{Op: packetfault.Hold})
	began = time.Now()
	p.do(t, p.a, packetfault.Request{Op: packetfault.Open, Gate: 7})
	t.Logf("opened in %v", time.Since(began))
	if x := next(t, questions); x.text != "2" {
		t.Errorf("%+v", x)
	}
	select {
	case x := <-answers:
		t.Fatalf("held, and yet %+v came", x)
	case <-time.After(50 * time.Millisecond):
	}
	p.do(t, p.b, packetfault.Request{Op: packetfault.Deliver})
	if a := next(t, answers); a.text != "1" {
		t.Errorf("%+v", a)
	}
	if _, err := p.queues.Do(t.Context(), "", packetfault.Request{Op: packetfault.Passed, Gate: 7}); err == nil {
		t.Error("the gate is still there")
	}
}

// Waiting for a gate that is opened before its time is an error.
func TestGateLeftOpen(t *testing.T) {
	p := newPair(t)
	got := reading(p.server)
	p.do(t, p.a, packetfault.Request{Op: packetfault.Gate, Gate: 8, N: 5, Counts: true})
	waited := make(chan error, 1)
	go func() {
		_, err := p.queues.Do(t.Context(), "", packetfault.Request{Op: packetfault.Shut, Gate: 8})
		waited <- err
	}()
	write(t, p.client, "one")
	if x := next(t, got); x.text != "one" {
		t.Errorf("%+v", x)
	}
	if r := p.do(t, p.a, packetfault.Request{Op: packetfault.Open, Gate: 8}); r.Messages != 1 {
		t.Errorf("%d messages passed, want 1", r.Messages)
	}
	if err := <-waited; err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("a wait for what never comes: %v", err)
	}
}
