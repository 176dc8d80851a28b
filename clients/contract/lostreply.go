package contract

import (
	"errors"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
)

// LostReply: the request took effect and its answer was lost. The marks are in the
// requests of an acquire and of a release.
func LostReply(t *testing.T, u Options, acquire, release string) {
	link := NewLink(t, u.Start(t)[0].Addr)
	ctx := Within(t, 30*time.Second)
	l := Open(t, u.Lock, "c1", []string{link.Addr}, u.TTL)
	g, err := l.Acquire(ctx, "other") // so that the client is connected
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(ctx, g); err != nil {
		t.Fatal(err)
	}
	link.LoseReply(acquire)
	_, err = l.Acquire(Within(t, 3*time.Second), "lost")
	if !errors.Is(err, clients.ErrUnknown) {
		t.Errorf("acquire: %v; want ErrUnknown", err)
	}
	if !link.Lost() {
		t.Fatal("no request passed")
	}
	g2, err := l.Acquire(ctx, "lost")
	if err != nil {
		t.Fatalf("acquire once the first has run out: %v", err)
	}
	// The first acquire's key had the revision after the first grant's, or so:
	// a client that finds it in place would return it as a new grant.
	if u.Lock.Fencing && g2.Token < g.Token+3 {
		t.Errorf("token %d: that of the acquire that failed, not a new one", g2.Token)
	}
	link.LoseReply(release)
	if err := l.Release(Within(t, 3*time.Second), g2); !errors.Is(err, clients.ErrUnknown) {
		t.Errorf("release: %v; want ErrUnknown", err)
	}
}
