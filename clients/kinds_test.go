package clients

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func oneRedis(t testing.TB) []*server { return startRedis(t, 1) }

// kindsUnderTest keep the contract of all locks when they are used as a mutex, and their
// own besides.
var kindsUnderTest = []underTest{
	{name: "redis-semaphore", ttl: time.Second, start: oneRedis, cut: "unknown"},
	{name: "redis-rwlock", ttl: time.Second, start: oneRedis, cut: "unknown"},
	{name: "redis-reentrant", ttl: time.Second, start: oneRedis, cut: "unknown"},
	{name: "postgres-shared", ttl: time.Second, start: startPostgres, session: true, cut: "unknown", lose: terminate},
	{name: "consul-semaphore", ttl: time.Second, start: startConsul, session: true},
	{name: "etcd-rwlock", ttl: time.Second, start: startEtcd, session: true, cut: "unknown"},
}

func init() { underTests = append(underTests, kindsUnderTest...) }

func TestKinds(t *testing.T) {
	tests := map[string]func(*testing.T, underTest, []*server){Semaphore: testPermits, ReadWrite: testShared, Reentrant: testReentrant}
	for _, u := range kindsUnderTest {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			info, err := Builtin().Lookup(u.name)
			if err != nil {
				t.Fatal(err)
			}
			tests[info.Kind](t, u, u.start(t))
		})
	}
}

// testPermits lets six clients fight over three permits: never are four out at once, and
// all three can be.
func testPermits(t *testing.T, u underTest, servers []*server) {
	const permits = 3
	extra := map[string]string{permitsOption.Name: fmt.Sprint(permits)}
	ctx := within(t, 60*time.Second)
	var inside, most atomic.Int32
	var group sync.WaitGroup
	for n := range 2 * permits {
		l := openWith(t, u.name, fmt.Sprint("c", n), addrs(servers), 5*u.ttl, extra)
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
	var held []Grant
	var holders []Lock
	for n := range permits {
		l := openWith(t, u.name, fmt.Sprint("h", n), addrs(servers), 10*time.Second, extra)
		g, err := l.Acquire(ctx, "all")
		if err != nil {
			t.Fatalf("permit %d: %v", n+1, err)
		}
		held, holders = append(held, g), append(holders, l)
	}
	last := openWith(t, u.name, "last", addrs(servers), 10*time.Second, extra)
	if !refused(t, last.Acquire, "all") {
		t.Error("one more than there are permits")
	}
	if err := holders[1].Release(ctx, held[1]); err != nil {
		t.Error(err)
	}
	if err := holders[1].Release(ctx, held[1]); !errors.Is(err, ErrNotHeld) {
		t.Errorf("released twice: %v", err)
	}
	g, err := last.Acquire(ctx, "all")
	if err != nil {
		t.Fatalf("a permit is free: %v", err)
	}
	for _, h := range []struct {
		l Lock
		g Grant
	}{{last, g}, {holders[0], held[0]}, {holders[2], held[2]}} {
		if err := h.l.Release(ctx, h.g); err != nil {
			t.Error(err)
		}
	}
}

// refused says whether an acquire waits in vain for a while, for certain.
func refused(t *testing.T, take func(context.Context, string) (Grant, error), key string) bool {
	t.Helper()
	_, err := take(within(t, 300*time.Millisecond), key)
	if errors.Is(err, ErrUnknown) {
		t.Errorf("waiting in vain: %v; want a definite failure", err)
	}
	return err != nil
}

// testShared: readers have it together, a writer alone.
func testShared(t *testing.T, u underTest, servers []*server) {
	ctx := within(t, 60*time.Second)
	one := func(name string) (Lock, Sharer) {
		l := open(t, u.name, name, addrs(servers), 10*time.Second)
		return l, l.(Sharer)
	}
	a, as := one("a")
	b, bs := one("b")
	w, ws := one("w")
	take := func(f func(context.Context, string) (Grant, error)) Grant {
		t.Helper()
		g, err := f(ctx, "shared")
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	give := func(l Lock, g Grant) {
		t.Helper()
		if err := l.Release(ctx, g); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	ga, gb := take(as.AcquireShared), take(bs.AcquireShared)
	if !refused(t, w.Acquire, "shared") {
		t.Error("a writer was granted it while two read")
	}
	give(a, ga)
	if !refused(t, w.Acquire, "shared") {
		t.Error("a writer was granted it while one reads")
	}
	give(b, gb)
	gw := take(w.Acquire)
	if !refused(t, as.AcquireShared, "shared") || !refused(t, b.Acquire, "shared") {
		t.Error("granted while one writes")
	}
	give(w, gw)
	give(w, take(ws.AcquireShared))
	ga = take(as.AcquireShared)
	if err := b.Release(ctx, gb); !errors.Is(err, ErrNotHeld) {
		t.Errorf("released twice: %v", err)
	}
	if !refused(t, w.Acquire, "shared") {
		t.Error("a release that was one too many took another reader's lock")
	}
	give(a, ga)
}

// testReentrant: who holds it enters it again, and has to leave as often.
func testReentrant(t *testing.T, u underTest, servers []*server) {
	ctx := within(t, 60*time.Second)
	a := open(t, u.name, "a", addrs(servers), 10*time.Second)
	b := open(t, u.name, "b", addrs(servers), 10*time.Second)
	var held []Grant
	for range 3 {
		g, err := a.Acquire(ctx, "again")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, g)
	}
	for i := len(held) - 1; i >= 0; i-- {
		if !refused(t, b.Acquire, "again") {
			t.Errorf("granted to another while entered %d times", i+1)
		}
		if err := a.Release(ctx, held[i]); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	if err := a.Release(ctx, held[0]); !errors.Is(err, ErrNotHeld) {
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

// TestRedisSemaphoreNaive: whose clock is behind, if only by the time that its request
// took longer, is granted a permit that is out.
func TestRedisSemaphoreNaive(t *testing.T) {
	t.Parallel()
	ctx := within(t, 30*time.Second)
	l := open(t, "redis-semaphore-naive", "c1", addrs(oneRedis(t)), time.Second).(redisSemaphoreNaive)
	g, err := l.Acquire(ctx, "naive")
	if err != nil {
		t.Fatal(err)
	}
	if !refused(t, l.Acquire, "naive") {
		t.Error("the one permit was given twice")
	}
	now := time.Now().UnixMicro()
	for _, c := range []struct {
		member string
		at     int64
		rank   int64
	}{{"later", now, 1}, {"earlier", now - 900_000, 0}} {
		v, _, err := l.lock.do(ctx, c.member, "EVAL", redisNaiveTake, 1, "naive", c.member, c.at, int64(1e6))
		if err != nil || v != c.rank {
			t.Errorf("%s: rank %v, %v; want %d", c.member, v, err, c.rank)
		}
	}
	if err := l.Release(ctx, g); err != nil {
		t.Error(err)
	}
	if err := l.Release(ctx, g); !errors.Is(err, ErrNotHeld) {
		t.Errorf("released twice: %v", err)
	}
}
