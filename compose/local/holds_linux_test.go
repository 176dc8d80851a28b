package local

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/nemesis/packetfault"
)

// holds is how often messages are held and delivered: make soak ARGS=hold does it more often.
func holds() int {
	if n, err := strconv.Atoi(os.Getenv("PICKLOCK_SOAK")); err == nil {
		return n
	}
	return 60
}

// ownQueues are the packet queues of this test's own namespace and of its nodes'.
var ownQueues = packetfault.NewQueues()

const streamPort = 7999

// heldLink is one way on which messages are held, from a namespace to an address.
type heldLink struct{ netns, to string }

// TestHoldSoak holds and delivers messages in every direction between clients and servers,
// and between servers, while clients write and read back and streams of numbers go both
// ways. Nothing may be lost, come twice or out of order.
func TestHoldSoak(t *testing.T) {
	for _, k := range kept {
		if k.unsafe != nil {
			continue
		}
		t.Run(k.cluster, func(t *testing.T) {
			c := startKept(t, k.cluster, nil, false)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var load errgroup.Group
			var numbers, acked, again atomic.Int64
			// Not /proc/self: that is the first thread's, which may be in a node's now.
			own, err := os.Open("/proc/thread-self/ns/net")
			if err != nil {
				t.Fatal(err)
			}
			defer own.Close()
			links, err := holdLinks(c, fmt.Sprintf("/proc/self/fd/%d", own.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			names, addrs := servers(c)
			for _, name := range names {
				streams(ctx, t, c, name, &load, &numbers)
			}
			const writers = 4
			for i := range writers {
				load.Go(func() error { return readBack(ctx, addrs, k.open, fmt.Sprintf("h%d", i), &acked, &again) })
			}
			began := time.Now()
			messages, gone, err := holdOften(ctx, links, holds())
			if err != nil {
				t.Error(err)
			}
			took := time.Since(began)
			// What is sent now goes through queues without faults.
			for before := numbers.Load() + 1; numbers.Load() <= before && ctx.Err() == nil; {
				time.Sleep(time.Millisecond)
			}
			stop()
			if err := load.Wait(); err != nil {
				t.Error(err)
			}
			t.Logf("%d holds and delivers on %d links in %v: %d messages held, %d writes read back, %d of them tried again, %d numbers in order; the servers had given up %d connections",
				holds(), len(links), took.Round(time.Millisecond), messages, acked.Load(), again.Load(), numbers.Load(), gone)
			if acked.Load() == 0 || messages == 0 {
				t.Error("nothing was held, or nothing was written")
			}
		})
	}
}

// holdLinks are the links from this test to the servers, back, and between them.
func holdLinks(c *Cluster, netns string) (out []heldLink, err error) {
	var nodes []compose.Node
	for _, n := range c.Nodes() {
		if n.Role == compose.Server {
			nodes = append(nodes, n)
		}
	}
	own, err := net.Dial("tcp4", nodes[0].HostPort())
	if err != nil {
		return nil, err
	}
	defer own.Close()
	self := own.LocalAddr().(*net.TCPAddr).IP.String() //nolint:forcetypeassert // it is TCP
	for _, n := range nodes {
		out = append(out, heldLink{netns, n.Addr}, heldLink{n.NetNS, self})
		for _, other := range nodes {
			if other.Name != n.Name {
				out = append(out, heldLink{n.NetNS, other.Addr})
			}
		}
	}
	return out, nil
}

// holdOften holds and delivers n times, on several links at a time, now all at once, now one
// by one first.
// What a server's program has given up meanwhile is logged and no failure.
func holdOften(ctx context.Context, links []heldLink, n int) (messages, gone int64, err error) {
	var left, held, givenUp atomic.Int64
	left.Store(int64(n))
	var g errgroup.Group
	for i, l := range links {
		g.Go(func() error {
			rng := rand.New(rand.NewPCG(12, uint64(i)))
			order := func(o packetfault.Request) (packetfault.Report, error) {
				o.To = []string{l.to}
				bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
				defer cancel()
				r, err := ownQueues.Do(bounded, l.netns, o)
				if err != nil {
					err = fmt.Errorf("%s on the way from %s to %s: %w", o.Op, l.netns, l.to, err)
				}
				return r, err
			}
			for left.Add(-1) >= 0 {
				if _, err := order(packetfault.Request{Op: packetfault.Hold}); err != nil {
					return err
				}
				time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond) // as long as a step takes
				for range rng.IntN(3) {
					// None may come, as where the other direction is held.
					c, err := order(packetfault.Request{Op: packetfault.Count})
					if err == nil && c.Messages > 0 {
						_, err = order(packetfault.Request{Op: packetfault.Deliver, N: 1})
						held.Add(1)
					}
					if err != nil {
						return err
					}
				}
				r, err := order(packetfault.Request{Op: packetfault.Deliver})
				if err != nil {
					return err
				}
				held.Add(int64(r.Messages))
				givenUp.Add(int64(r.GivenUp))
			}
			return nil
		})
	}
	err = g.Wait()
	return held.Load(), givenUp.Load(), err
}

// answerWithin bounds what takes milliseconds where nothing is kept for good.
const answerWithin = time.Minute

// readBack counts a key up, alone, and reads back each time what was acknowledged. Where
// its library has lost the connection, as ZooKeeper's does when its server looks for a leader,
// it asks again.
func readBack(ctx context.Context, addrs []string, open opener, key string, acked, again *atomic.Int64) error {
	s, err := open(ctx, addrs)
	if err != nil {
		return err
	}
	defer s.close()
	for n := 1; ctx.Err() == nil; n++ {
		// The last of them has its answer before the end.
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
		var got int
		err := errors.New("not tried")
		for first := true; err != nil && within.Err() == nil; first = false {
			if !first {
				again.Add(1)
				time.Sleep(10 * time.Millisecond) // its library connects anew
			}
			if err = s.put(within, key, n); err == nil {
				got, err = s.get(within, key)
			}
		}
		cancel()
		if err != nil {
			return fmt.Errorf("%s: write %d and read it back: %w", key, n, err)
		}
		if got != n {
			return fmt.Errorf("%s is %d, and %d was acknowledged", key, got, n)
		}
		acked.Add(1)
	}
	return nil
}

// streams sends numbers in both directions between this test and a listener in a server's
// namespace, in pieces of all sizes, and checks what arrives, byte for byte.
func streams(ctx context.Context, t *testing.T, c *Cluster, name string, load *errgroup.Group, numbers *atomic.Int64) {
	t.Helper()
	n, _ := nodeNamed(c, name)
	ns, err := os.Open(n.NetNS)
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	var l net.Listener
	if nerr := proc.InNetNS(ns, func() { l, err = net.Listen("tcp4", fmt.Sprintf("%s:%d", n.Addr, streamPort)) }); nerr != nil || err != nil {
		t.Fatal(nerr, err)
	}
	defer l.Close()
	there, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	back, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { there.Close(); back.Close() })
	for _, x := range [][2]net.Conn{{there, back}, {back, there}} {
		load.Go(func() error {
			defer x[0].(*net.TCPConn).CloseWrite() //nolint:forcetypeassert // it is TCP, and the other end has had all
			rng := rand.New(rand.NewPCG(7, uint64(len(name))))
			piece := make([]byte, 0, 64<<10)
			for next := uint64(0); ctx.Err() == nil; {
				piece = piece[:0]
				for range 1 + rng.IntN(1<<rng.IntN(12)) {
					piece = binary.BigEndian.AppendUint64(piece, next)
					next++
				}
				if _, err := x[0].Write(piece); err != nil {
					return fmt.Errorf("stream of %s: %w", name, err)
				}
				time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond) // leave the processors to others
			}
			return nil
		})
		load.Go(func() error {
			in := bufio.NewReaderSize(x[1], 64<<10)
			for want := uint64(0); ; want++ {
				var b [8]byte
				if want%1024 == 0 {
					_ = x[1].SetReadDeadline(time.Now().Add(answerWithin)) // a deadline of a connection that is there
				}
				if _, err := io.ReadFull(in, b[:]); errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					return fmt.Errorf("stream of %s after %d: %w", name, want, err)
				}
				if got := binary.BigEndian.Uint64(b[:]); got != want {
					return fmt.Errorf("stream of %s: %d came where %d was due", name, got, want)
				}
				numbers.Add(1)
			}
		})
	}
}

func nodeNamed(c *Cluster, name string) (compose.Node, bool) {
	for _, n := range c.Nodes() {
		if n.Name == name {
			return n, true
		}
	}
	return compose.Node{}, false
}
