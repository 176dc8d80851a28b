package redis

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/servers"
)

// dump is all that a server keeps, by key.
func dump(t *testing.T, addr string) map[string]string {
	t.Helper()
	db := redis.NewClient(&redis.Options{Addr: addr})
	defer db.Close()
	keys, err := db.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, key := range keys {
		if out[key], err = db.Dump(t.Context(), key).Result(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// left counts the keys that are on the servers beside those before.
func left(t *testing.T, addrs []string, before map[string]string) int {
	t.Helper()
	n := 0
	for _, addr := range addrs {
		for key := range dump(t, addr) {
			if _, ok := before[key]; !ok {
				n++
			}
		}
	}
	return n
}

// awaitAlone waits until no other client is connected with the server, which has then received
// all that they sent.
func awaitAlone(ctx context.Context, t *testing.T, addr string) {
	t.Helper()
	db := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 1})
	defer db.Close()
	for {
		list, err := db.ClientList(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(list, "\n") <= 1 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("others are still connected with %s:\n%s", addr, list)
		case <-time.After(time.Millisecond):
		}
	}
}

// Clean removes what the locks leave on a server, and nothing else.
func TestClean(t *testing.T) {
	const mark = "picklock-0123456789-"
	var addrs []string
	for _, s := range servers.Redis(t, 3) {
		addrs = append(addrs, s.Addr)
	}
	others := map[string]any{"k0": "1", "picklock-": "2", "picklock-0123456780-k0": "3", "rueidislock:0:k0": "4", "backup:" + mark + "k0": "5", "my-" + mark + "k0": "6", "rueidislock:0:my-" + mark + "k0": "7"}
	for i := range 2 * scanCount {
		others[fmt.Sprintf("other:%d", i)] = i
	}
	for _, addr := range addrs {
		db := redis.NewClient(&redis.Options{Addr: addr})
		if err := db.MSet(t.Context(), others).Err(); err != nil {
			t.Fatal(err)
		}
		db.Close()
	}
	before := dump(t, addrs[0])
	for _, info := range Locks() {
		if info.Cluster == "redis-sentinel" || info.Unlocked != nil {
			continue // sentinels keep no keys, and what is no lock takes none
		}
		t.Run(info.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			o := clients.Options{Servers: addrs, Client: "c1", TTL: time.Minute, Log: slog.New(slog.DiscardHandler)}
			l, err := info.Open(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			_, err = l.Acquire(ctx, mark+"k0")
			held := left(t, addrs, before)
			l.Close()
			if err != nil {
				t.Fatal(err)
			}
			if held == 0 {
				t.Fatal("a lock that is held left nothing")
			}
			// A lock on several servers is granted before the last of them has answered.
			for _, addr := range addrs {
				awaitAlone(ctx, t, addr)
			}
			held = left(t, addrs, before)
			if n, err := service().Clean(ctx, o, mark); err != nil || n != held {
				t.Fatalf("%d removed of %d, %v", n, held, err)
			}
			for _, addr := range addrs {
				if after := dump(t, addr); !maps.Equal(after, before) {
					t.Errorf("%s has %d keys, had %d", addr, len(after), len(before))
				}
			}
			if n, err := service().Clean(ctx, o, mark); err != nil || n != 0 {
				t.Errorf("%d removed once more, %v", n, err)
			}
		})
	}
}

// Of other programs' locks, what has the mark at the beginning of a part is removed; what only
// contains it stays, and the error says so.
func TestCleanForeign(t *testing.T) {
	const mark = "picklock-abcdefghij-"
	addrs := []string{servers.Redis(t, 1)[0].Addr}
	db := redis.NewClient(&redis.Options{Addr: addrs[0]})
	defer db.Close()
	for _, key := range []string{"other", "my-" + mark + "k0"} {
		if err := db.Set(t.Context(), key, "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	before := dump(t, addrs[0])
	for _, key := range []string{mark + "k0", "lock:" + mark + "k0", "{" + mark + "k1}:queue", "lock_" + mark + "k2"} {
		if err := db.Set(t.Context(), key, "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	n, err := service().ForForeignKeys().Clean(t.Context(), clients.Options{Servers: addrs}, mark)
	if n != 4 || err == nil || !strings.Contains(err.Error(), "my-"+mark) {
		t.Errorf("%d removed, %v", n, err)
	}
	if after := dump(t, addrs[0]); !maps.Equal(after, before) {
		t.Errorf("the server has %d keys, had %d", len(after), len(before))
	}
}
