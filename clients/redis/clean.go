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
	"github.com/picklock/picklock/clients/internal/wire"
)

func service() *clients.Service {
	return &clients.Service{Name: "redis", Clean: clean, CleanAll: cleanKeys, Names: names}
}

// scanCount is how many keys a server looks at for one answer: it serves nobody else
// meanwhile.
const scanCount = 500

// clean is cleanKeys for the locks of this package, which no Redis Cluster is for.
func clean(ctx context.Context, o clients.Options, mark string) (int, error) {
	for _, addr := range o.Servers {
		if err := noCluster(ctx, o, addr); err != nil {
			return 0, err
		}
	}
	return unlink(ctx, o, mark, func(key string) bool { return strings.HasPrefix(given(key), mark) })
}

// given is what a run has called a lock, of the key that the lock has in Redis.
func given(key string) string { return cmp.Or(rueidisName(key), key) }

// noCluster returns an error if a server is one of a Redis Cluster. Whoever may not ask that is
// told nothing.
func noCluster(ctx context.Context, o clients.Options, addr string) error {
	db := newRedis(o, addr, 5*time.Second, new(wire.Tap))
	defer db.Close()
	text, err := db.Info(ctx, "cluster").Result()
	if err == nil && strings.Contains(text, "cluster_enabled:1") {
		return fmt.Errorf("redis: %s is one of a Redis Cluster, for which the locks of picklock are not made: test your own on it, with --lock exec:COMMAND --clean-as redis and all of its masters in --endpoint", o.Called(addr))
	}
	return nil
}

// cleanKeys removes the keys that contain mark from every server that takes writes.
func cleanKeys(ctx context.Context, o clients.Options, mark string) (int, error) {
	return unlink(ctx, o, mark, func(string) bool { return true })
}

// unlink removes the keys that contain mark, and that are wanted, from every server that takes
// writes.
func unlink(ctx context.Context, o clients.Options, mark string, wanted func(key string) bool) (int, error) {
	n := 0
	err := onMasters(ctx, o, "remove the keys with "+mark, func(db *redis.Client) error {
		return scan(ctx, db, mark, func(key string) error {
			if !wanted(key) {
				return nil
			}
			removed, err := db.Unlink(ctx, key).Result()
			n += int(removed)
			return err
		})
	})
	return n, err
}

// names are what runs may have called their locks.
func names(ctx context.Context, o clients.Options) (out []string, err error) {
	err = onMasters(ctx, o, "look for the keys of runs", func(db *redis.Client) error {
		return scan(ctx, db, clients.MarkPrefix, func(key string) error {
			out = append(out, given(key))
			return nil
		})
	})
	return out, err
}

// onMasters has something done on every server that takes writes. Others have what their
// master has, or no keys at all.
func onMasters(ctx context.Context, o clients.Options, what string, do func(*redis.Client) error) (all error) {
	for _, addr := range o.Servers {
		name, _, err := role(ctx, o, addr, 5*time.Second)
		if err == nil && name == "master" {
			db := newRedis(o, addr, 5*time.Second, new(wire.Tap))
			err = errors.Join(do(db), db.Close())
		}
		if err != nil {
			err = fmt.Errorf("redis: %s on %s: %w", what, addr, err)
		}
		all = errors.Join(all, err)
	}
	return all
}

// scan calls do for each key that contains a text, which says nothing to Redis's patterns.
func scan(ctx context.Context, db *redis.Client, text string, do func(key string) error) error {
	for cursor := uint64(0); ; {
		keys, next, err := db.Scan(ctx, cursor, "*"+text+"*", scanCount).Result()
		if err != nil {
			return err
		}
		for _, key := range keys {
			if !strings.Contains(key, text) {
				continue // it is not removed in any case
			}
			if err := do(key); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
