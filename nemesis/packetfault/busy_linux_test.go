package packetfault_test

import (
	"sync"
	"testing"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// What is held goes at once when it is delivered, though the kernel still changes the rules for somebody else; and the queue of another
// namespace waits for none of that.
func TestBusyQueue(t *testing.T) {
	p := newPair(t)
	got, back := reading(p.server), reading(p.client)
	p.do(t, p.a, packetfault.Request{Op: packetfault.Hold})
	write(t, p.client, "held")
	p.do(t, p.a, packetfault.Request{Op: packetfault.Await, N: 1})

	free, err := p.queues.Occupy(p.a.NetNS, true)
	if err != nil {
		t.Fatal(err)
	}
	p.do(t, p.b, packetfault.Request{Op: packetfault.Hold})
	write(t, p.server, "answer")
	p.do(t, p.b, packetfault.Request{Op: packetfault.Await, N: 1})
	p.do(t, p.b, packetfault.Request{Op: packetfault.Deliver})
	if r := next(t, back); r.text != "answer" {
		t.Fatalf("%+v", r)
	}
	free()

	if free, err = p.queues.Occupy(p.a.NetNS, false); err != nil {
		t.Fatal(err)
	}
	delivered := make(chan error, 1)
	go func() {
		_, err := p.queues.Do(t.Context(), p.a.NetNS, packetfault.Request{Op: packetfault.Deliver, To: []string{p.b.Addr}})
		delivered <- err
	}()
	if r := next(t, got); r.text != "held" {
		t.Fatalf("%+v", r)
	}
	free()
	if err := <-delivered; err != nil {
		t.Fatal(err)
	}
	if r := p.do(t, p.a, packetfault.Request{Op: packetfault.Count}); r.Messages != 0 {
		t.Errorf("%+v still waits", r)
	}
}

// Many that open and close queues at once leave none open, and none that is closed is used.
func TestQueuesTogether(t *testing.T) {
	p := newPair(t)
	var all sync.WaitGroup
	for i := range 8 {
		from, to := p.a, p.b
		if i%2 == 1 {
			from, to = to, from
		}
		all.Go(func() {
			for range 25 {
				for _, op := range []packetfault.Op{packetfault.Hold, packetfault.Deliver} {
					if _, err := p.queues.Do(t.Context(), from.NetNS, packetfault.Request{Op: op, To: []string{to.Addr}}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	got := reading(p.server)
	write(t, p.client, "free")
	if r := next(t, got); r.text != "free" {
		t.Fatalf("%+v", r)
	}
	for _, n := range []compose.Node{p.a, p.b} {
		if open := p.queues.Open(n.NetNS); open {
			t.Errorf("the queue of %s is open, and no link has a fault", n.Name)
		}
	}
}
