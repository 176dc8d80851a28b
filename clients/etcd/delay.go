package etcd

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
	"github.com/picklock/picklock/history"
)

func etcdDelayInfo() clients.Info {
	return clients.Info{
		Name:      "etcd-lock-delay",
		About:     "etcd with Chubby's lock-delay: no client gets a lock that was lost and not released for two more leases (option delay)",
		Cluster:   "etcd",
		Fencing:   true,
		Module:    "go.etcd.io/etcd/client/v3",
		Confirms:  true,
		MinTTL:    time.Second,
		LeaseUnit: time.Second,
		Inspect:   lookEtcd,
		Options: []clients.Option{{Name: "delay", About: "lock-delay: how long a lost lock stays blocked after its lease; etcd counts in whole seconds",
			Default: "2 leases", Check: adapter.Checks(adapter.ParseLength), Safer: []string{"4 leases"}}},
		LockDelay: adapter.LockDelay,
		Open: func(_ context.Context, o clients.Options) (clients.Lock, error) {
			delay, err := adapter.Read(o, "delay", 2*o.TTL, adapter.ParseLength)
			if err != nil {
				return nil, fmt.Errorf("etcd-lock-delay: %w", err)
			}
			return openEtcd(o, delay)
		},
		Sequencer: openEtcdSequencer,
	}
}

// keepWithin is what makes a lock-delay (Burrows, OSDI 2006, section 2.4) of one
// lease that is longer than the holder may use. The holder stops when its own part,
// counted from the sending of the last keepalive that was answered, is over, and
// then leaves the key alone: etcd drops it when the rest, the delay, is over, too.
// That needs no second key, which a crash could leave out or a stray keepalive could let
// expire first. The delay is never shorter than promised, since the server counts the lease
// from a later instant than the holder. The price is that a dead client in line blocks those
// behind it for as long.
//
// It renews the lease often enough for the holder's part, which the library does not,
// and closes the channel when that part is over.
func (l *etcdLock) keepWithin(s *etcdSession) <-chan struct{} {
	lost := make(chan struct{})
	l.group.Go(func() {
		defer close(lost)
		left := func() time.Duration {
			r := s.watch.newest()
			return time.Duration(r.Since-history.Now()) + r.Lease
		}
		for left() > 0 {
			t := time.NewTimer(min(left(), l.options.TTL/3))
			select {
			case <-t.C:
			case <-s.Done():
				t.Stop()
				return
			}
			s.keepOnce(left())
		}
		l.giveUp(s, false) // without a request to etcd: the key has to stay
	})
	return lost
}

// keepOnce sends one keepalive. leaseWatch sees its answer; without one the time
// runs out. The client's KeepAliveOnce would try again without a pause for as long as
// no server can be reached.
func (s *etcdSession) keepOnce(within time.Duration) {
	ctx, cancel := context.WithTimeout(s.client.Ctx(), within)
	defer cancel()
	stream, err := etcdserverpb.NewLeaseClient(s.client.ActiveConnection()).LeaseKeepAlive(ctx)
	if err != nil {
		return
	}
	if stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(s.Lease())}) == nil {
		_, _ = stream.Recv()
	}
}
