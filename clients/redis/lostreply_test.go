package redis

import (
	"errors"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
)

// TestRedislockLostReply: go-redis sends a request again that was not answered. The
// lease counts from the one that was answered. If none may be sent again, the outcome
// is unknown.
func TestRedislockLostReply(t *testing.T) {
	t.Parallel()
	link := contract.NewLink(t, servers.Redis(t, 1)[0].Addr)
	ctx := contract.Within(t, 60*time.Second)
	const patience = 300 * time.Millisecond
	l := contract.OpenWith(t, named("redislock"), "c1", []string{link.Addr}, 30*time.Second, map[string]string{"read-timeout": patience.String()}).(*redislockLock)
	contract.Warm(t, l) // the server knows the scripts
	link.LoseReply("evalsha")
	began := time.Now()
	g, err := l.Acquire(ctx, "k")
	if err != nil || !link.Lost() {
		t.Fatalf("acquire: %v, reply lost: %v; want the second request granted", err, link.Lost())
	}
	if first, n := l.wire.Sent(), time.Since(began); g.Since-first < int64(patience) || n < patience {
		t.Errorf("since lies %v after the first request; want at least %v", time.Duration(g.Since-first), patience)
	}
	link.LoseReply("evalsha")
	// The first deleted the key, the second found none: the library takes that for
	// another's.
	if err := l.Release(ctx, g); !errors.Is(err, clients.ErrUnknown) {
		t.Errorf("release that was asked twice: %v; want ErrUnknown", err)
	}

	once := contract.OpenWith(t, named("redislock"), "c1", []string{link.Addr}, 30*time.Second, map[string]string{"read-timeout": patience.String(), "max-retries": "0"})
	contract.Warm(t, once)
	link.LoseReply("evalsha")
	if _, err := once.Acquire(ctx, "k2"); !errors.Is(err, clients.ErrUnknown) {
		t.Errorf("acquire asked once and not answered: %v; want ErrUnknown", err)
	}
}

// TestRueidislockLostReply: the library removes a key whose answer did not come in time, so that
// it blocks no client.
func TestRueidislockLostReply(t *testing.T) {
	t.Parallel()
	servers := servers.Redis(t, 1)
	link := contract.NewLink(t, servers[0].Addr)
	ctx := contract.Within(t, 60*time.Second)
	const ttl = 20 * time.Second
	l := contract.OpenWith(t, named("rueidislock"), "c1", []string{link.Addr}, ttl, nil)
	contract.Warm(t, l)
	link.Set(true)
	if _, err := l.Acquire(contract.Within(t, 300*time.Millisecond), "k"); err == nil || errors.Is(err, clients.ErrUnknown) {
		t.Errorf("acquire across a cut: %v; want a definite failure", err)
	}
	link.Set(false)
	began := time.Now()
	if _, err := contract.OpenWith(t, named("rueidislock"), "c1", contract.Addrs(servers), ttl, nil).Acquire(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d > ttl/2 {
		t.Errorf("another client was blocked for %v by keys without a holder", d)
	}
}
