package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
)

// testPermits lets six clients compete for three permits: never more than three are taken at
// once, and all three can be.
func testPermits(t *testing.T, u Options, servers []*Server) {
	const permits = 3
	extra := map[string]string{clients.OptionPermits: fmt.Sprint(permits)}
	ctx := Within(t, 60*time.Second)
	var inside, most atomic.Int32
	var group sync.WaitGroup
	for n := range 2 * permits {
		l := OpenWith(t, u.Lock, fmt.Sprint("c", n), Addrs(servers), 5*u.TTL, extra)
		group.Go(func() {
			for range 10 {
				g, err := l.Acquire(ctx, "permits")
				if err != nil {
					t.Errorf("acquire: %v", err)
					return
				}
				now := inside.Add(1)
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				time.Sleep(5 * time.Millisecond) // what holding it is
				inside.Add(-1)
				if err := l.Release(ctx, g); err != nil {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	group.Wait()
	if most.Load() > permits {
		t.Errorf("%d held it at once, and there are %d permits", most.Load(), permits)
	}
	var held []clients.Grant
	var holders []clients.Lock
	for n := range permits {
		l := OpenWith(t, u.Lock, fmt.Sprint("h", n), Addrs(servers), 10*time.Second, extra)
		g, err := l.Acquire(ctx, "all")
		if err != nil {
			t.Fatalf("permit %d: %v", n+1, err)
		}
		held, holders = append(held, g), append(holders, l)
	}
	last := OpenWith(t, u.Lock, "last", Addrs(servers), 10*time.Second, extra)
	if !Refused(t, last.Acquire, "all") {
		t.Error("one more than there are permits")
	}
	if err := holders[1].Release(ctx, held[1]); err != nil {
		t.Error(err)
	}
	if err := holders[1].Release(ctx, held[1]); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("released twice: %v", err)
	}
	g, err := last.Acquire(ctx, "all")
	if err != nil {
		t.Fatalf("a permit is free: %v", err)
	}
	for _, h := range []struct {
		l clients.Lock
		g clients.Grant
	}{{last, g}, {holders[0], held[0]}, {holders[2], held[2]}} {
		if err := h.l.Release(ctx, h.g); err != nil {
			t.Error(err)
		}
	}
}

// The wait of an acquire in vain, the least time that locks give the answer to its cancellation, and how often a machine may be too busy for that.
const (
	waitInVain  = 300 * time.Millisecond
	leastGrace  = 250 * time.Millisecond
	triesInVain = 3
)

// Refused says whether an acquire waits in vain for a while, for certain. If a service does not answer in time that it has been cancelled, the outcome is
// unknown, as it should be: such an acquire is tried again.
func Refused(t *testing.T, take func(context.Context, string) (clients.Grant, error), key string) bool {
	t.Helper()
	for try := 1; ; try++ {
		began := time.Now()
		_, err := take(Within(t, waitInVain), key)
		switch unknown := errors.Is(err, clients.ErrUnknown); {
		case !unknown:
			return err != nil
		case try == triesInVain || time.Since(began) < waitInVain+leastGrace:
			t.Errorf("waiting in vain: %v; want a definite failure", err)
			return true
		}
	}
}

// testShared: readers hold it together, a writer alone.
func testShared(t *testing.T, u Options, servers []*Server) {
	ctx := Within(t, 60*time.Second)
	one := func(name string) (clients.Lock, clients.Sharer) {
		l := Open(t, u.Lock, name, Addrs(servers), 10*time.Second)
		return l, l.(clients.Sharer)
	}
	a, as := one("a")
	b, bs := one("b")
	w, ws := one("w")
	take := func(f func(context.Context, string) (clients.Grant, error)) clients.Grant {
		t.Helper()
		g, err := f(ctx, "shared")
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	give := func(l clients.Lock, g clients.Grant) {
		t.Helper()
		if err := l.Release(ctx, g); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	ga, gb := take(as.AcquireShared), take(bs.AcquireShared)
	if !Refused(t, w.Acquire, "shared") {
		t.Error("a writer was granted it while two read")
	}
	give(a, ga)
	if !Refused(t, w.Acquire, "shared") {
		t.Error("a writer was granted it while one reads")
	}
	give(b, gb)
	gw := take(w.Acquire)
	if !Refused(t, as.AcquireShared, "shared") || !Refused(t, b.Acquire, "shared") {
		t.Error("granted while one writes")
	}
	give(w, gw)
	give(w, take(ws.AcquireShared))
	ga = take(as.AcquireShared)
	if err := b.Release(ctx, gb); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("released twice: %v", err)
	}
	if !Refused(t, w.Acquire, "shared") {
		t.Error("a release that was one too many took another reader's lock")
	}
	give(a, ga)
}

// testDowngrade: what a client has alone it goes on to share, and nobody has it alone meanwhile.
func testDowngrade(t *testing.T, u Options, servers []*Server) {
	ctx := Within(t, 60*time.Second)
	one := func(name string) clients.Lock { return Open(t, u.Lock, name, Addrs(servers), 10*time.Second) }
	a, b, w := one("a"), one("b"), one("w")
	own, err := a.Acquire(ctx, "down")
	if err != nil {
		t.Fatal(err)
	}
	if !Refused(t, b.(clients.Sharer).AcquireShared, "down") {
		t.Error("shared before the downgrade")
	}
	waiting := make(chan clients.Grant, 1)
	go func() {
		defer close(waiting)
		g, err := w.Acquire(ctx, "down")
		if err != nil {
			t.Errorf("the writer that waits: %v", err)
			return
		}
		waiting <- g
	}()
	ga, err := a.(clients.Downgrader).Downgrade(ctx, own)
	if err != nil {
		t.Fatal(err)
	}
	// A lock may have readers wait behind a writer that waits.
	gb, shared := clients.Grant{}, false
	if !Refused(t, func(ctx context.Context, key string) (g clients.Grant, err error) {
		gb, err = b.(clients.Sharer).AcquireShared(ctx, key)
		return gb, err
	}, "down") {
		shared = true
	}
	select {
	case <-waiting:
		t.Fatal("a writer was granted it beside a reader that had been a writer")
	case <-time.After(300 * time.Millisecond):
	}
	if shared {
		err = b.Release(ctx, gb)
	}
	if err := errors.Join(err, a.Release(ctx, ga)); err != nil {
		t.Errorf("release: %v", err)
	}
	if g, ok := <-waiting; ok {
		if err := w.Release(ctx, g); err != nil {
			t.Error(err)
		}
	}
}

// testReentrant: the holder acquires it again, and has to release it as often.
func testReentrant(t *testing.T, u Options, servers []*Server) {
	ctx := Within(t, 60*time.Second)
	a := Open(t, u.Lock, "a", Addrs(servers), 10*time.Second)
	b := Open(t, u.Lock, "b", Addrs(servers), 10*time.Second)
	var held []clients.Grant
	for range 3 {
		g, err := a.Acquire(ctx, "again")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, g)
	}
	for i := len(held) - 1; i >= 0; i-- {
		if !Refused(t, b.Acquire, "again") {
			t.Errorf("granted to another while entered %d times", i+1)
		}
		if err := a.Release(ctx, held[i]); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	if err := a.Release(ctx, held[0]); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("released once too often: %v", err)
	}
	g, err := b.Acquire(ctx, "again")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Release(ctx, g); err != nil {
		t.Error(err)
	}
}
