package etcd

import (
	"context"
	"net"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/picklock/picklock/clients"
)

func service() *clients.Service {
	return &clients.Service{Name: "etcd", Stores: stores, ForeignStores: stores}
}

// dialWithin is how long an external server may take to accept a connection, and to check a
// password.
const dialWithin = 5 * time.Second

// newClient makes the library's client, with these settings, for the lock's servers.
func newClient(o clients.Options, c clientv3.Config) (*clientv3.Client, error) {
	c.Endpoints, c.Logger = o.Servers, zap.NewNop()
	if o.External == nil {
		return clientv3.New(c)
	}
	var err error
	if c.Username, c.Password, err = o.Login(); err != nil {
		return nil, err
	}
	c.DialTimeout = dialWithin
	// TLS is below gRPC: each server has a name of its own, and the library takes one for all.
	c.DialOptions = append(c.DialOptions, grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		return o.Dial(ctx, "tcp", addr, dialWithin, "h2")
	}))
	return clientv3.New(c)
}

// keyFolder is where the locks keep their keys.
const keyFolder = "/picklock/"

// pageKeys is how many keys a server looks up for one answer.
const pageKeys = 1000

func stores(_ context.Context, o clients.Options, do func(clients.Store) error) error {
	c, err := newClient(o, clientv3.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
	return do(clients.Store{
		Prefix: keyFolder,
		Each: func(ctx context.Context, prefix string, do func(string) error) error {
			from, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
			if prefix == "" {
				from = "\x00"
			}
			for {
				r, err := c.Get(ctx, from, clientv3.WithRange(end), clientv3.WithKeysOnly(), clientv3.WithLimit(pageKeys))
				if err != nil {
					return err
				}
				for _, kv := range r.Kvs {
					if err := do(string(kv.Key)); err != nil {
						return err
					}
					from = string(kv.Key) + "\x00"
				}
				if !r.More {
					return nil
				}
			}
		},
		Delete: func(ctx context.Context, key string) (bool, error) {
			r, err := c.Delete(ctx, key)
			return err == nil && r.Deleted > 0, err
		},
	})
}
