package consul

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/picklock/picklock/clients"
)

func consulSemaphoreInfo() clients.Info {
	return clients.Info{
		Name:     "consul-semaphore",
		About:    "Consul: the api module's Semaphore, a list of holders changed by compare-and-set, whose sessions it checks",
		Cluster:  "consul",
		Module:   "github.com/hashicorp/consul/api",
		Kind:     clients.Semaphore,
		Confirms: true, // a holder that is still in the list has its permit
		MinTTL:   time.Second,
		Options:  []clients.Option{clients.PermitsOption()},
		Open: func(_ context.Context, o clients.Options) (clients.Lock, error) {
			if len(o.Servers) == 0 {
				return nil, errors.New("consul: no servers given")
			}
			return consulSemaphore{newConsulLock(o), clients.PermitsOf(o)}, nil
		},
	}
}

// consulSemaphore makes one api.Semaphore for each acquire, with a session of its own. As
// with consulLock, no lease is claimed.
type consulSemaphore struct {
	*consulLock
	permits int
}

// consulPermit is a grant's Ref.
type consulPermit struct {
	semaphore *api.Semaphore
	transport *observedTransport
}

func (l consulSemaphore) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.retry(ctx, key, l.once)
}

// once lets one api.Semaphore wait until ctx ends.
func (l consulSemaphore) once(ctx context.Context, key string) (clients.Grant, error) {
	c, w, err := l.client()
	if err != nil {
		return clients.Grant{}, err
	}
	s, err := c.SemaphoreOpts(&api.SemaphoreOptions{
		Prefix: semaphoreFolder + key, Limit: l.permits, SessionName: sessionName(l.options, key), SessionTTL: l.options.TTL.String(),
		SemaphoreWaitTime: min(max(l.options.TTL/2, 250*time.Millisecond), time.Second), // it ignores ctx for so long
	})
	if err != nil {
		w.end()
		return clients.Grant{}, err
	}
	lost, err := l.wait(ctx, w, s.Acquire)
	if err != nil {
		return clients.Grant{}, err
	}
	w.forgetReleased()
	return clients.Grant{Key: key, Lost: lost, Ref: consulPermit{s, w}}, nil
}

// Release takes the holder out of the list; the module does not say whether it was there.
func (l consulSemaphore) Release(ctx context.Context, g clients.Grant) error {
	ref := g.Ref.(consulPermit)
	defer l.leave(ref.transport)
	err := l.call(ctx, ref.semaphore.Release)
	switch held, answered := ref.transport.releasedHeld(); {
	case errors.Is(err, api.ErrSemaphoreNotHeld):
		return fmt.Errorf("consul: release %s: %w: %w", g.Key, clients.ErrNotHeld, err)
	case err != nil:
		return fmt.Errorf("consul: release %s: %w: %w", g.Key, clients.ErrUnknown, err)
	case !answered || !held: // it read the list, and was not in it
		return fmt.Errorf("consul: release %s: %w", g.Key, clients.ErrNotHeld)
	}
	return nil
}
