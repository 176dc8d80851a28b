package contract

import (
	"testing"
	"time"
)

// LossSignal: the library of a holder that is cut off signals the loss, whatever it returns for
// the release, and the client works again afterwards.
func LossSignal(t *testing.T, u Options, servers []*Server) {
	ctx := Within(t, 90*time.Second)
	links := NewLinks(t, servers)
	a := Open(t, u.Lock, "a", links.Addrs(), u.TTL)
	b := Open(t, u.Lock, "b", Addrs(servers), u.TTL)
	g, err := a.Acquire(ctx, "signal")
	if err != nil {
		t.Fatal(err)
	}
	links.Cut()
	g2, err := b.Acquire(ctx, "signal")
	if err != nil {
		t.Fatalf("after the holder was cut off: %v", err)
	}
	select {
	case <-g.Lost:
	case <-ctx.Done():
		t.Fatal("the grant is gone and Lost never closed")
	}
	links.Heal()
	_ = a.Release(ctx, g)
	if err := b.Release(ctx, g2); err != nil {
		t.Errorf("release by the holder: %v", err)
	}
	if _, err := a.Acquire(ctx, "signal"); err != nil {
		t.Errorf("acquire after a loss: %v", err)
	}
}
