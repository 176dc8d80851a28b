package etcd

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/picklock/picklock/clients"
)

func service() *clients.Service {
	return &clients.Service{Name: "etcd", Clean: clean, CleanAll: cleanAll, Names: names}
}

// dialWithin is how long a server that is somebody's own may take to take a connection, and
// to tell a client who comes with a password that it may.
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
	// TLS is spoken below gRPC: each server has a name of its own, and the library takes one
	// for all.
	c.DialOptions = append(c.DialOptions, grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		return o.Dial(ctx, "tcp", addr, dialWithin, "h2")
	}))
	return clientv3.New(c)
}

// clean removes the keys of all locks, and of all who wait for one.
func clean(ctx context.Context, o clients.Options, mark string) (int, error) {
	c, err := newClient(o, clientv3.Config{})
	if err != nil {
		return 0, fmt.Errorf("etcd: remove the keys with %s: %w", mark, err)
	}
	defer c.Close()
	r, err := c.Delete(ctx, "/picklock/"+mark, clientv3.WithPrefix())
	if err != nil {
		return 0, fmt.Errorf("etcd: remove the keys with %s: %w", mark, err)
	}
	return int(r.Deleted), nil
}

// pageKeys is how many keys a server looks up for one answer.
const pageKeys = 1000

// eachKey calls do for each key with a prefix.
func eachKey(ctx context.Context, o clients.Options, prefix string, do func(c *clientv3.Client, key string) error) error {
	c, err := newClient(o, clientv3.Config{})
	if err != nil {
		return err
	}
	defer c.Close()
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
			if err := do(c, string(kv.Key)); err != nil {
				return err
			}
			from = string(kv.Key) + "\x00"
		}
		if !r.More {
			return nil
		}
	}
}

// cleanAll removes every key that contains mark.
func cleanAll(ctx context.Context, o clients.Options, mark string) (n int, err error) {
	err = eachKey(ctx, o, "", func(c *clientv3.Client, key string) error {
		if !strings.Contains(key, mark) {
			return nil
		}
		r, err := c.Delete(ctx, key)
		if err == nil {
			n += int(r.Deleted)
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("etcd: remove the keys with %s: %w", mark, err)
	}
	return n, err
}

// names are the keys that may be a run's.
func names(ctx context.Context, o clients.Options) (out []string, err error) {
	err = eachKey(ctx, o, "/picklock/"+clients.MarkPrefix, func(_ *clientv3.Client, key string) error {
		out = append(out, strings.TrimPrefix(key, "/picklock/"))
		return nil
	})
	if err != nil {
		err = fmt.Errorf("etcd: look for the keys of runs: %w", err)
	}
	return out, err
}
