package contract_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/history"
)

// mine is a lock with leases in this process's memory, where another would have a
// service.
type mine struct{ options clients.Options }

var (
	mu     sync.Mutex
	held   = map[string]clients.Grant{}
	counts int64
)

func (m mine) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	for {
		mu.Lock()
		since := history.Now()
		if g, ok := held[key]; !ok || since > g.Since+int64(g.Lease) {
			counts++
			g = clients.Grant{Key: key, Token: counts, Since: since, Lease: m.options.TTL}
			held[key] = g
			mu.Unlock()
			return g, nil
		}
		mu.Unlock()
		select {
		case <-ctx.Done():
			return clients.Grant{}, fmt.Errorf("mine: acquire %s: %w", key, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (mine) Release(_ context.Context, g clients.Grant) error {
	mu.Lock()
	defer mu.Unlock()
	if h, ok := held[g.Key]; !ok || h.Token != g.Token {
		return errors.Join(errors.New("mine"), clients.ErrNotHeld)
	}
	delete(held, g.Key)
	return nil
}

func (mine) Close() error { return nil }

// TestMine shows the contract on a user's lock. It has no server that could be cut off or
// killed.
func TestMine(t *testing.T) {
	contract.Run(t, contract.Options{
		Lock: clients.Info{Name: "mine", Fencing: true, Open: func(_ context.Context, o clients.Options) (clients.Lock, error) {
			return mine{o}, nil
		}},
		Start:   func(testing.TB) []*contract.Server { return nil },
		Without: []string{contract.Cut, contract.Kill},
	})
}
