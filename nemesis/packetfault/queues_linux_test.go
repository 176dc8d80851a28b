package packetfault_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// What is held arrives when it is delivered, whole and in order, and was not sent twice;
// in the direction of the one who connected and in the other.
func TestHoldAndDeliver(t *testing.T) {
	const held, within = 1500 * time.Millisecond, 5 * 20 * time.Millisecond
	for _, back := range []bool{false, true} {
		t.Run(fmt.Sprintf("back=%v", back), func(t *testing.T) {
			p := newPair(t)
			from, sender, receiver := p.a, p.client, p.server
			if back {
				from, sender, receiver = p.b, p.server, p.client
			}
			got := reading(receiver)
			p.do(t, from, packetfault.Request{Op: packetfault.Hold})
			p.do(t, from, packetfault.Request{Op: packetfault.Probe, Port: 7000})
			// A question that the held answer has to acknowledge.
			write(t, receiver, "question")
			if q := next(t, reading(sender)); q.text != "question" {
				t.Fatalf("%+v", q)
			}
			// No more than a connection sends before the first acknowledgement.
			big := strings.Repeat("0123456789", 180)
			for i := range 5 {
				write(t, sender, fmt.Sprint(i)+big)
			}
			// What TCP lets out before any of it has left; the rest waits behind it.
			p.do(t, from, packetfault.Request{Op: packetfault.Await, N: certain})
			select {
			case early := <-got:
				t.Fatalf("held, and yet %d bytes came, %v", len(early.text), early.err)
			case <-time.After(held):
			}
			if r := p.do(t, from, packetfault.Request{Op: packetfault.Count}); r.Messages < certain || r.Messages > 5 {
				t.Errorf("%d messages wait, want %d to 5", r.Messages, certain)
			}
			began := time.Now()
			if r := p.do(t, from, packetfault.Request{Op: packetfault.Deliver}); r.Messages < certain || r.GivenUp != 0 {
				t.Errorf("delivered: %+v, want at least %d messages", r, certain)
			}
			var all strings.Builder
			var last time.Time
			for all.Len() < 5*(len(big)+1) {
				x := next(t, got)
				if x.err != nil {
					t.Fatal(x.err)
				}
				all.WriteString(x.text)
				last = x.at
			}
			if took := last.Sub(began); took > within {
				t.Errorf("the last of it came %v after the delivery, want within %v", took, within)
			} else {
				t.Logf("the last of it came %v after the delivery", took)
			}
			if want := "0" + big + "1" + big + "2" + big + "3" + big + "4" + big; all.String() != want {
				t.Error("what arrived is not what was sent")
			}
			for _, n := range []compose.Node{p.a, p.b} {
				if again := retransmitted(t, n); again != 0 {
					t.Errorf("%s sent %d segments again", n.Name, again)
				}
			}
			write(t, sender, "after")
			if x := next(t, got); x.text != "after" {
				t.Errorf("after the hold came %+v", x)
			}
		})
	}
}

// One message goes at a time, and one that has not come yet is waited for.
func TestDeliverOne(t *testing.T) {
	p := newPair(t)
	got := reading(p.server)
	p.do(t, p.a, packetfault.Request{Op: packetfault.Hold})
	for i := range certain {
		write(t, p.client, fmt.Sprint(i))
		p.do(t, p.a, packetfault.Request{Op: packetfault.Await, N: i + 1})
	}
	for i := range certain {
		p.do(t, p.a, packetfault.Request{Op: packetfault.Deliver, N: 1})
		if x := next(t, got); x.text != fmt.Sprint(i) {
			t.Fatalf("message %d is %+v", i, x)
		}
		if r := p.do(t, p.a, packetfault.Request{Op: packetfault.Count}); r.Messages != certain-1-i {
			t.Errorf("%d messages wait, want %d", r.Messages, certain-1-i)
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := p.queues.Do(t.Context(), p.a.NetNS, packetfault.Request{Op: packetfault.Deliver, N: 1, To: []string{p.b.Addr}})
		done <- err
	}()
	write(t, p.client, "late")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if x := next(t, got); x.text != "late" {
		t.Errorf("%+v", x)
	}
	write(t, p.client, "held")
	p.do(t, p.a, packetfault.Request{Op: packetfault.Await, N: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.queues.Do(ctx, p.a.NetNS, packetfault.Request{Op: packetfault.Await, N: 2, To: []string{p.b.Addr}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("two messages: %v", err)
	}
}

// Both ends learn that a connection is broken, what was held never arrives, and new
// connections work.
func TestBreak(t *testing.T) {
	p := newPair(t)
	p.do(t, p.a, packetfault.Request{Op: packetfault.Hold})
	write(t, p.client, "lost")
	p.do(t, p.a, packetfault.Request{Op: packetfault.Await, N: 1})
	if r := p.do(t, p.a, packetfault.Request{Op: packetfault.Discard}); r.Messages != 1 {
		t.Errorf("threw %+v away, want 1 message", r)
	}
	if r := p.do(t, p.a, packetfault.Request{Op: packetfault.Break}); r.Broken != 1 {
		t.Errorf("broke %+v, want 1 connection", r)
	}
	for name, c := range map[string]net.Conn{"client": p.client, "server": p.server} {
		if x := next(t, reading(c)); x.err == nil || errors.Is(x.err, io.EOF) {
			t.Errorf("%s: %+v, want an error", name, x)
		}
	}
	client, server := p.connect(t)
	write(t, client, "new")
	if x := next(t, reading(server)); x.text != "new" {
		t.Errorf("a new connection brought %+v", x)
	}
}

// One end forgets the connection, and the other hears nothing of it.
func TestHalfOpen(t *testing.T) {
	p := newPair(t)
	got := reading(p.server)
	r := p.do(t, p.a, packetfault.Request{Op: packetfault.Break, Manner: packetfault.HalfOpen})
	if r.Broken != 1 {
		t.Fatalf("broke %+v, want 1 connection", r)
	}
	if x := next(t, reading(p.client)); x.err == nil {
		t.Errorf("the end that forgot it: %+v, want an error", x)
	}
	write(t, p.server, "are you there")
	select {
	case x := <-got:
		t.Errorf("the other end learnt %+v", x)
	case <-time.After(300 * time.Millisecond):
	}
	if l := p.do(t, p.b, packetfault.Request{Op: packetfault.List}); len(l.Flows) != 1 {
		t.Errorf("the other end has %v, want the connection", l.Flows)
	}
	p.do(t, p.a, packetfault.Request{Op: packetfault.Unmute})
	if x := next(t, got); x.err == nil {
		t.Errorf("after the half-open time: %+v, want a reset", x)
	}
}

// Where the one who holds is killed, everything flows.
func TestHolderKilled(t *testing.T) {
	p := newPair(t)
	got := reading(p.server)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := p.a.NetNS
	if rest, ok := strings.CutPrefix(path, "/proc/self/"); ok {
		path = fmt.Sprintf("/proc/%d/%s", os.Getpid(), rest)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), holderEnv+"="+path+" "+p.b.Addr)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if said, _ := bufio.NewReader(out).ReadString('\n'); said != "held <nil>\n" {
		t.Fatal(said)
	}
	write(t, p.client, "first")
	select {
	case x := <-got:
		t.Fatalf("held, and yet %+v came", x)
	case <-time.After(100 * time.Millisecond):
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	write(t, p.client, "second")
	for all.Len() < len("firstsecond") {
		x := next(t, got)
		if x.err != nil {
			t.Fatal(x.err)
		}
		all.WriteString(x.text)
	}
	if all.String() != "firstsecond" {
		t.Errorf("%q arrived", all.String())
	}
}

// A node that has ended leaves no queue open: awaiting its messages fails, and nothing
// of its namespace is kept.
func TestForget(t *testing.T) {
	p := newPair(t)
	got := reading(p.server)
	number, err := proc.NetNSNumber(p.a.NetNS)
	if err != nil {
		t.Fatal(err)
	}
	before := namespaces(t, number)
	p.do(t, p.a, packetfault.Request{Op: packetfault.Hold})
	write(t, p.client, "first")
	p.do(t, p.a, packetfault.Request{Op: packetfault.Await, N: 1})
	if namespaces(t, number) == before {
		t.Error("an open queue does not keep its namespace open: the test shows nothing")
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := p.queues.Do(t.Context(), p.a.NetNS, packetfault.Request{Op: packetfault.Await, N: 2, To: []string{p.b.Addr}})
		waiting <- err
	}()
	if err := p.queues.Forget(number)(); err != nil {
		t.Fatal(err)
	}
	// It may have asked after the queue was closed.
	if err := <-waiting; !errors.Is(err, os.ErrProcessDone) && !strings.Contains(fmt.Sprint(err), "nothing is held here") {
		t.Errorf("who awaits its messages hears %v", err)
	}
	if after := namespaces(t, number); after != before {
		t.Errorf("%d descriptors of the namespace are open, were %d", after, before)
	}
	if r := p.do(t, p.a, packetfault.Request{Op: packetfault.Count}); r.Messages != 0 {
		t.Errorf("%d messages wait still", r.Messages)
	}
	if err := p.queues.Forget(number)(); err != nil {
		t.Errorf("once more: %v", err)
	}
	// This one is not really gone: what was discarded its kernel sends again.
	if x := next(t, got); x.text != "first" {
		t.Errorf("%+v came", x)
	}
}

// namespaces counts this process's open descriptors of a network namespace.
func namespaces(t *testing.T, number uint64) (n int) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && to == fmt.Sprintf("net:[%d]", number) {
			n++
		}
	}
	return n
}

// Packets come late and in order, in the one direction only.
func TestShapeDelay(t *testing.T) {
	p := newPair(t)
	const delay = 100 * time.Millisecond
	p.do(t, p.a, packetfault.Request{Op: packetfault.Shaped, Shape: packetfault.Shape{Delay: delay, Jitter: 10 * time.Millisecond}})
	if r := p.do(t, p.a, packetfault.Request{Op: packetfault.Ping, Port: 7000}); r.Took < delay-10*time.Millisecond || r.Took > 5*delay {
		t.Errorf("there and back took %v, want about %v", r.Took, delay)
	}
	got := reading(p.server)
	began := time.Now()
	for i := range 10 {
		write(t, p.client, fmt.Sprint(i))
	}
	var all strings.Builder
	for all.Len() < 10 {
		x := next(t, got)
		if took := x.at.Sub(began); took < delay-10*time.Millisecond {
			t.Errorf("%q came after %v, want at least %v", x.text, took, delay-10*time.Millisecond)
		}
		all.WriteString(x.text)
	}
	if all.String() != "0123456789" {
		t.Errorf("%q arrived", all.String())
	}
	p.do(t, p.a, packetfault.Request{Op: packetfault.Shaped})
	best := delay
	for range 10 { // on a busy machine one may take its time
		best = min(best, p.do(t, p.a, packetfault.Request{Op: packetfault.Ping, Port: 7000}).Took)
	}
	if best > delay/2 {
		t.Errorf("there and back took at least %v after the end", best)
	}
}

// Lost packets are counted, and TCP brings the bytes all the same.
func TestShapeLoss(t *testing.T) {
	p := newPair(t)
	p.do(t, p.a, packetfault.Request{Op: packetfault.Shaped, Shape: packetfault.Shape{Loss: 0.3}})
	got := reading(p.server)
	for i := 0; ; i++ {
		write(t, p.client, fmt.Sprintf("%04d", i))
		var all strings.Builder
		for all.Len() < 4 {
			x := next(t, got)
			if x.err != nil {
				t.Fatal(x.err)
			}
			all.WriteString(x.text)
		}
		if all.String() != fmt.Sprintf("%04d", i) {
			t.Fatalf("%q arrived as message %d", all.String(), i)
		}
		if r := p.do(t, p.a, packetfault.Request{Op: packetfault.Count}); r.Lost > 0 && r.Passed > 0 {
			return
		} else if i == 500 {
			t.Fatalf("%+v after %d messages: want some lost and some passed", r, i)
		}
	}
}

func TestTry(t *testing.T) {
	if !sandbox.Isolated {
		testkit.Need(t, "namespaces", errors.New(sandbox.Why))
	}
	if _, err := packetfault.NewQueues().Do(t.Context(), "", packetfault.Request{Op: packetfault.Try}); err != nil {
		t.Error(err)
	}
}

func TestRequestsThatCannotBe(t *testing.T) {
	p := newPair(t)
	for name, o := range map[string]packetfault.Request{
		"no address":      {Op: packetfault.Hold, To: []string{"x"}},
		"nothing held":    {Op: packetfault.Await, To: []string{p.b.Addr}, N: 1},
		"no such thing":   {Op: "x", To: []string{p.b.Addr}},
		"deliver nothing": {Op: packetfault.Deliver, To: []string{p.b.Addr}, N: 1},
	} {
		if _, err := p.queues.Do(t.Context(), p.a.NetNS, o); err == nil {
			t.Errorf("%s was done", name)
		}
	}
	if _, err := p.queues.Do(t.Context(), "/nowhere", packetfault.Request{Op: packetfault.Hold, To: []string{p.b.Addr}}); err == nil {
		t.Error("a namespace that is not there was held")
	}
}
