package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
)

// TestRedisReentrantAfterALoss: an entry of a hold that is over begins another hold, so that its release takes nothing
// that the lock has promised the first one since.
func TestRedisReentrantAfterALoss(t *testing.T) {
	t.Parallel()
	addrs := contract.Addrs(one(t))
	ctx := contract.Within(t, 60*time.Second)
	a := contract.Open(t, named("redis-reentrant"), "a", addrs, 10*time.Second).(*redisReentrant)
	b := contract.Open(t, named("redis-reentrant"), "b", addrs, 10*time.Second)
	first, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.do(ctx, "DEL", "DEL", "k"); err != nil { // as when its lease ends
		t.Fatal(err)
	}
	entry, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Renew(ctx, first); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("the grant that is over was renewed: %v", err)
	}
	if !contract.Refused(t, b.Acquire, "k") {
		t.Error("the entry holds nothing")
	}
	inner, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Release(ctx, inner); err != nil {
		t.Error(err)
	}
	if err := a.Release(ctx, first); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("the grant that is over was released: %v", err)
	}
	if !contract.Refused(t, b.Acquire, "k") {
		t.Error("the release of a grant that was over freed a later one")
	}
	if err := a.Release(ctx, entry); err != nil {
		t.Error(err)
	}
	if g, err := b.Acquire(ctx, "k"); err != nil {
		t.Error(err)
	} else if err := b.Release(ctx, g); err != nil {
		t.Error(err)
	}
}

// TestRedisReentrantAfterAnUnsentRelease: the server counts an entry still whose release was never sent. The outermost release frees the
// lock all the same.
func TestRedisReentrantAfterAnUnsentRelease(t *testing.T) {
	t.Parallel()
	addrs := contract.Addrs(one(t))
	ctx := contract.Within(t, 60*time.Second)
	a := contract.Open(t, named("redis-reentrant"), "a", addrs, time.Minute)
	b := contract.Open(t, named("redis-reentrant"), "b", addrs, time.Minute)
	outer, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	inner, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if err := a.Release(ended, inner); err == nil || errors.Is(err, clients.ErrUnknown) {
		t.Fatalf("the release of a client that had ended: %v", err)
	}
	if err := a.Release(ctx, outer); err != nil {
		t.Fatal(err)
	}
	if contract.Refused(t, b.Acquire, "k") {
		t.Error("the outermost release left the lock taken")
	}
}
