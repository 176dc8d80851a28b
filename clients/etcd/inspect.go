package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

// lookEtcd counts the keys in the mutex's line.
func lookEtcd(ctx context.Context, o clients.Options, key string) (int, error) {
	server := o.Servers[0]
	c, err := newClient(o, clientv3.Config{})
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", server, err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, adapter.InspectWithin)
	defer cancel()
	r, err := c.Get(ctx, "/picklock/"+key+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", server, err)
	}
	return int(r.Count), nil
}
