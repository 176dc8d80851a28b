package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/history"
)

// A client takes over from a holder that died no sooner than a lease after the holder's write was sent, by the lease in the
// object and not by its own.
func TestWaitsAWholeLease(t *testing.T) {
	t.Parallel()
	addrs := contract.Addrs(startServer(t))
	ctx := contract.Within(t, 30*time.Second)
	a := contract.Open(t, named("s3-lease"), "a", addrs, time.Second)
	b := contract.Open(t, named("s3-lease"), "b", addrs, 500*time.Millisecond)
	g, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	g2, err := b.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if early := g.Since + int64(g.Lease) - history.Now(); g.Since == 0 || early > 0 || g2.Token != g.Token+1 {
		t.Errorf("granted %v before the lease was over, with token %d after %d", time.Duration(early), g2.Token, g.Token)
	}
	if err := a.Release(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("a release by the first: %v; want ErrNotHeld", err)
	}
	if mine, err := b.(clients.Holder).Holds(ctx, g2); !mine || err != nil {
		t.Errorf("the second holds it: %v, %v", mine, err)
	}
}

// A renewal that took effect and was not answered is found by the next change, and does not look like a loss.
func TestRenewalWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	link := contract.NewLink(t, startServer(t)[0].Addr)
	ctx := contract.Within(t, 30*time.Second)
	l := contract.Open(t, named("s3-lease"), "a", []string{link.Addr}, 3*time.Second)
	g, err := l.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	link.LoseReply("PUT /")
	if _, err := l.(clients.Renewer).Renew(ctx, g); !errors.Is(err, clients.ErrUnknown) {
		t.Errorf("renew: %v; want ErrUnknown", err)
	}
	if !link.Lost() {
		t.Fatal("no request passed")
	}
	if _, err := l.(clients.Renewer).Renew(ctx, g); err != nil {
		t.Errorf("the next renewal: %v", err)
	}
	if err := l.Release(ctx, g); err != nil {
		t.Errorf("release: %v", err)
	}
}

// A write that took effect and was not answered is unknown.
func TestLostReply(t *testing.T) {
	t.Parallel()
	link := contract.NewLink(t, startServer(t)[0].Addr)
	ctx := contract.Within(t, 30*time.Second)
	l := contract.Open(t, named("s3-lease"), "c1", []string{link.Addr}, time.Second)
	if _, err := l.Acquire(ctx, "other"); err != nil { // so that the bucket is there
		t.Fatal(err)
	}
	link.LoseReply("PUT /picklock/lost")
	if _, err := l.Acquire(contract.Within(t, 3*time.Second), "lost"); !errors.Is(err, clients.ErrUnknown) {
		t.Errorf("acquire: %v; want ErrUnknown", err)
	}
	if !link.Lost() {
		t.Fatal("no request passed")
	}
	g, err := l.Acquire(ctx, "lost")
	if err != nil || g.Token != 2 {
		t.Errorf("acquire once the first has run out: %+v, %v; want token 2", g, err)
	}
	link.LoseReply("PUT /picklock/lost")
	if err := l.Release(contract.Within(t, 3*time.Second), g); !errors.Is(err, clients.ErrUnknown) {
		t.Errorf("release: %v; want ErrUnknown", err)
	}
}

// Of many writes with one condition, one takes effect: this is what the locks stand on.
func TestConditionsAreAtomic(t *testing.T) {
	t.Parallel()
	addrs := contract.Addrs(startServer(t))
	ctx := contract.Within(t, 60*time.Second)
	var all []*bucket
	for range 8 {
		b, err := newBucket("s3", clients.Options{Servers: addrs, TTL: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		all = append(all, b)
	}
	if err := all[0].create(ctx); err != nil {
		t.Fatal(err)
	}
	for round := range 20 {
		key, etag := fmt.Sprintf("k%d", round/2), ""
		if round%2 == 1 {
			is, err := all[0].get(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			etag = is.etag
		}
		var won atomic.Int32
		var wg sync.WaitGroup
		for i, b := range all {
			wg.Go(func() {
				_, _, err := b.put(ctx, key, etag, "", fmt.Appendf(nil, "%d by %d", round, i))
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, errHeld):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("round %d: %d of %d writes took effect", round, won.Load(), len(all))
		}
	}
}

// A refusal is definite, an internal error is not.
func TestErrors(t *testing.T) {
	for code, unknown := range map[int]bool{http.StatusForbidden: false, http.StatusConflict: false, http.StatusInternalServerError: true, http.StatusServiceUnavailable: true} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			port := servers.FreePort(t)
			srv := &http.Server{Addr: "127.0.0.1:" + port, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					code := http.StatusNotFound
					w.WriteHeader(code)
					fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
					return
				}
				w.WriteHeader(code)
				fmt.Fprint(w, "<Error><Code>Whatever</Code></Error>")
			})}
			go srv.ListenAndServe()
			defer srv.Close()
			l := contract.Open(t, named("s3-lease"), "c1", []string{srv.Addr}, time.Second)
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			defer cancel()
			if _, err := l.Acquire(ctx, "k"); err == nil || errors.Is(err, clients.ErrUnknown) != unknown {
				t.Errorf("acquire: %v; want unknown: %v", err, unknown)
			}
		})
	}
}
