package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func service() *clients.Service {
	return &clients.Service{Name: "redis", Stores: stores, ForeignStores: masters}
}

// scanCount is how many keys a server looks at for one answer: it serves no other client
// meanwhile.
const scanCount = 500

// stores are the masters, of which no Redis Cluster may be one: the locks here do not speak to
// it.
func stores(ctx context.Context, o clients.Options, do func(clients.Store) error) error {
	for _, addr := range o.Servers {
		if err := noCluster(ctx, o, addr); err != nil {
			return err
		}
	}
	return masters(ctx, o, do)
}

// noCluster returns an error if a server is known to be one of a Redis Cluster.
func noCluster(ctx context.Context, o clients.Options, addr string) error {
	db := newRedis(o, addr, 5*time.Second, new(adapter.Tap))
	defer db.Close()
	text, err := db.Info(ctx, "cluster").Result()
	if err == nil && strings.Contains(text, "cluster_enabled:1") {
		return fmt.Errorf("%s is one of a Redis Cluster, for which the locks of picklock are not made: test your own on it, with --lock exec:COMMAND --clean-as redis and all of its masters in --endpoint", o.PublicAddr(addr))
	}
	return nil
}

// masters are the servers that take writes. Others have what their master has, or no keys at
// all.
func masters(ctx context.Context, o clients.Options, do func(clients.Store) error) (all error) {
	for _, addr := range o.Servers {
		name, _, err := role(ctx, o, addr, 5*time.Second)
		if err == nil && name == "master" {
			db := newRedis(o, addr, 5*time.Second, new(adapter.Tap))
			err = errors.Join(do(store(db)), db.Close())
		}
		if err != nil {
			err = fmt.Errorf("on %s: %w", addr, err)
		}
		all = errors.Join(all, err)
	}
	return all
}

func store(db *redis.Client) clients.Store {
	return clients.Store{
		Given:    func(key string) string { return cmp.Or(rueidisName(key), key) },
		Anywhere: true,
		Each: func(ctx context.Context, text string, do func(string) error) error {
			for cursor := uint64(0); ; {
				// A mark has no glob characters.
				keys, next, err := db.Scan(ctx, cursor, "*"+text+"*", scanCount).Result()
				if err != nil {
					return err
				}
				for _, key := range keys {
					if err := do(key); err != nil {
						return err
					}
				}
				if cursor = next; cursor == 0 {
					return nil
				}
			}
		},
		Delete: func(ctx context.Context, key string) (bool, error) {
			n, err := db.Unlink(ctx, key).Result()
			return n > 0, err
		},
	}
}
