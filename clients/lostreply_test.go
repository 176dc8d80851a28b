package clients

import (
	"errors"
	"testing"
	"time"
)

// TestRedislockLostReply: go-redis sends a request again that was not answered. The
// lease counts from the one that was answered, and where none may be sent again the
// outcome is open.
func TestRedislockLostReply(t *testing.T) {
	t.Parallel()
	way := newLink(t, startRedis(t, 1)[0].addr)
	ctx := within(t, 60*time.Second)
	const patience = 300 * time.Millisecond
	l := openWith(t, "redislock", "c1", []string{way.addr}, 30*time.Second, map[string]string{"read-timeout": patience.String()}).(*redislockLock)
	warm(t, l) // the server knows the scripts
	way.loseReply("evalsha")
	began := time.Now()
	g, err := l.Acquire(ctx, "k")
	if err != nil || !way.lost() {
		t.Fatalf("acquire: %v, reply lost: %v; want the second request granted", err, way.lost())
	}
	if first, n := l.wire.sent(), time.Since(began); g.Since-first < int64(patience) || n < patience {
		t.Errorf("since lies %v after the first request; want at least %v", time.Duration(g.Since-first), patience)
	}
	way.loseReply("evalsha")
	// The first deleted the key, the second found none: the library takes that for
	// another's.
	if err := l.Release(ctx, g); !errors.Is(err, ErrUnknown) {
		t.Errorf("release that was asked twice: %v; want ErrUnknown", err)
	}

	once := openWith(t, "redislock", "c1", []string{way.addr}, 30*time.Second, map[string]string{"read-timeout": patience.String(), "max-retries": "0"})
	warm(t, once)
	way.loseReply("evalsha")
	if _, err := once.Acquire(ctx, "k2"); !errors.Is(err, ErrUnknown) {
		t.Errorf("acquire asked once and not answered: %v; want ErrUnknown", err)
	}
}

// TestRueidislockLostReply: the library takes a key back whose answer did not come in
// time, so that nobody is kept out.
func TestRueidislockLostReply(t *testing.T) {
	t.Parallel()
	servers := startRedis(t, 1)
	way := newLink(t, servers[0].addr)
	ctx := within(t, 60*time.Second)
	const ttl = 20 * time.Second
	l := openWith(t, "rueidislock", "c1", []string{way.addr}, ttl, nil)
	warm(t, l)
	way.set(true)
	if _, err := l.Acquire(within(t, 300*time.Millisecond), "k"); err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("acquire across a cut: %v; want a definite failure", err)
	}
	way.set(false)
	began := time.Now()
	if _, err := openWith(t, "rueidislock", "c1", addrs(servers), ttl, nil).Acquire(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > ttl/2 {
		t.Errorf("another was kept out for %v by keys that nobody holds", d)
	}
}

func warm(t *testing.T, l Lock) {
	t.Helper()
	ctx := within(t, 30*time.Second)
	g, err := l.Acquire(ctx, "warm")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(ctx, g); err != nil {
		t.Fatal(err)
	}
}
