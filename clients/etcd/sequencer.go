package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/picklock/picklock/clients"
)

func etcdSequencerInfo() clients.Info {
	return clients.Info{
		Name:      "etcd-sequencer",
		About:     "the same lock as etcd, for a resource that asks etcd whether the token is in force (--fencing sequencer), as with Chubby",
		Cluster:   "etcd",
		Fencing:   true,
		Module:    "go.etcd.io/etcd/client/v3",
		Confirms:  true,
		MinTTL:    time.Second,
		LeaseUnit: time.Second,
		Inspect:   lookEtcd,
		Open:      func(_ context.Context, o clients.Options) (clients.Lock, error) { return openEtcd(o, 0) },
		Sequencer: openEtcdSequencer,
	}
}

// etcdSequencer asks etcd who holds the lock, by a linearizable read.
type etcdSequencer struct{ client *clientv3.Client }

func openEtcdSequencer(_ context.Context, o clients.Options) (clients.Sequencer, error) {
	if len(o.Servers) == 0 {
		return nil, errors.New("etcd: no servers given")
	}
	c, err := newClient(o, clientv3.Config{DialTimeout: 5 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	return etcdSequencer{c}, nil
}

// Valid looks for the key that is first in the line, the holder's. It does not suffice that a
// key with that revision exists: a waiting client has one, too.
func (s etcdSequencer) Valid(ctx context.Context, key string, token int64) (bool, error) {
	line := append(clientv3.WithFirstCreate(), clientv3.WithKeysOnly())
	r, err := s.client.Get(ctx, "/picklock/"+key+"/", line...)
	if err != nil {
		return false, fmt.Errorf("etcd: who holds %s: %w", key, err)
	}
	return len(r.Kvs) == 1 && r.Kvs[0].CreateRevision == token, nil
}

func (s etcdSequencer) Close() error { return s.client.Close() }
