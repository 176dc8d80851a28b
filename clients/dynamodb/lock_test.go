package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/clients/internal/servers/dynamoserver"
	"github.com/picklock/picklock/history"
)

// TestDynamoWaitsAWholeLease: a client takes over from a holder that died no sooner than a lease after the holder's write was sent, by the lease in the item and
// not by its own.
func TestDynamoWaitsAWholeLease(t *testing.T) {
	t.Parallel()
	servers := dynamoserver.Start(t)
	ctx := contract.Within(t, 30*time.Second)
	a := contract.Open(t, named("dynamodb"), "a", contract.Addrs(servers), time.Second)
	b := contract.Open(t, named("dynamodb"), "b", contract.Addrs(servers), 500*time.Millisecond)
	g, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	g2, err := b.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if early := g.Since + int64(g.Lease) - history.Now(); early > 0 || g2.Token != g.Token+1 {
		t.Errorf("granted %v before the lease was over, with token %d after %d", time.Duration(early), g2.Token, g.Token)
	}
	// A holder that renews is not taken over, although its first lease is long over:
	// every renewal is a new number.
	c := contract.Open(t, named("dynamodb"), "c", contract.Addrs(servers), time.Second)
	done := make(chan error, 1)
	cut, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	go func() {
		_, err := c.Acquire(cut, "k")
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err == nil || errors.Is(err, clients.ErrUnknown) {
				t.Errorf("taken from a holder that renews: %v", err)
			}
			return
		case <-time.After(20 * time.Millisecond):
			if _, err := b.(clients.Renewer).Renew(ctx, g2); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestDynamoLostReply: a write that took effect and was not answered is unknown, and
// one that the service refused is not.
func TestDynamoLostReply(t *testing.T) {
	for _, name := range []string{"dynamodb", "dynamodb-wallclock"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link := contract.NewLink(t, dynamoserver.Start(t)[0].Addr)
			ctx := contract.Within(t, 30*time.Second)
			l := contract.Open(t, named(name), "c1", []string{link.Addr}, time.Second)
			g, err := l.Acquire(ctx, "other") // so that the table is there
			if err != nil {
				t.Fatal(err)
			}
			link.LoseReply("ADD fence")
			if _, err := l.Acquire(contract.Within(t, 3*time.Second), "lost"); !errors.Is(err, clients.ErrUnknown) {
				t.Errorf("acquire: %v; want ErrUnknown", err)
			}
			if !link.Lost() {
				t.Fatal("no request passed")
			}
			g2, err := l.Acquire(ctx, "lost")
			if err != nil || g2.Token != 2 {
				t.Errorf("acquire once the first has run out: %+v, %v; want token 2", g2, err)
			}
			link.LoseReply("SET held = :no")
			if err := l.Release(contract.Within(t, 3*time.Second), g2); !errors.Is(err, clients.ErrUnknown) {
				t.Errorf("release: %v; want ErrUnknown", err)
			}
			if err := l.Release(ctx, g); err != nil {
				t.Errorf("release of the other: %v", err)
			}
		})
	}
}

// TestDynamoErrors: a refusal is definite, an internal error is not.
func TestDynamoErrors(t *testing.T) {
	for code, unknown := range map[int]bool{http.StatusBadRequest: false, http.StatusInternalServerError: true, http.StatusServiceUnavailable: true} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			port := servers.FreePort(t)
			srv := &http.Server{Addr: "127.0.0.1:" + port, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/x-amz-json-1.0")
				if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "GetItem") {
					fmt.Fprint(w, "{}")
					return
				}
				w.WriteHeader(code)
				fmt.Fprint(w, `{"__type":"Whatever","message":"no"}`)
			})}
			go srv.ListenAndServe()
			defer srv.Close()
			l := contract.Open(t, named("dynamodb"), "c1", []string{srv.Addr}, time.Second)
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			defer cancel()
			if _, err := l.Acquire(ctx, "k"); err == nil || errors.Is(err, clients.ErrUnknown) != unknown {
				t.Errorf("acquire: %v; want unknown: %v", err, unknown)
			}
		})
	}
}
