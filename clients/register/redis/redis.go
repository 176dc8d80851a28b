// Package redis is the protected resource as a hash in Redis.
package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
)

// Backend is its line in the table.
func Backend() register.Backend {
	return register.Backend{
		Name: "redis", About: "a hash in Redis: one Lua script that compares, writes and appends to a stream", Cluster: "redis",
		Open: func(addr string, m register.FencingMode) register.Resource {
			return &redisResource{register.Conn[*redis.Client]{
				Addr: addr, FencingMode: m,
				Dial: func(context.Context, string) (*redis.Client, error) { return openRedis(addr), nil },
			}}
		},
		OpenAdmin: openRedisAdmin,
	}
}

// redisScript does all of one request: Redis runs nothing else meanwhile.
var redisScript = redis.NewScript(`
local highest = tonumber(redis.call('HGET', KEYS[1], 'token') or '0')
local version = tonumber(redis.call('HGET', KEYS[1], 'version') or '0')
local token, value, refused = tonumber(ARGV[1]), ARGV[2], 1
if highest < tonumber(ARGV[3]) then
  refused = 0
  if ARGV[4] ~= 'read' then
    version = version + 1
    redis.call('HSET', KEYS[1], 'value', value, 'version', version)
  else
    value = redis.call('HGET', KEYS[1], 'value') or ''
  end
  if ARGV[5] == '1' and token > highest then
    highest = token
    redis.call('HSET', KEYS[1], 'token', token)
  end
end
local now = redis.call('TIME')
redis.call('XADD', KEYS[2], '*', 'at', now[1] * 1000000 + now[2], 'f', ARGV[4], 'key', ARGV[6], 'process', ARGV[7], 'grant', ARGV[8],
  'token', ARGV[1], 'value', value, 'parent', ARGV[9], 'version', version, 'highest', highest, 'refused', refused)
return {refused, value, version, highest}`)

const redisLog = "{picklock}:effects"

func redisKey(key string) string { return "{picklock}:resource:" + key }

type redisResource struct {
	register.Conn[*redis.Client]
}

func (p *redisResource) Do(ctx context.Context, r register.Request) (register.Reply, error) {
	return p.Conn.Do(ctx, r, func(db *redis.Client) (register.Reply, error) { return p.send(ctx, db, r) })
}

func (p *redisResource) send(ctx context.Context, db *redis.Client, r register.Request) (register.Reply, error) {
	write := r.F != history.Read
	raises := 0
	if p.FencingMode.Raises(write) {
		raises = 1
	}
	got, err := redisScript.Run(ctx, db, []string{redisKey(r.Key), redisLog},
		r.Token, r.Value, p.FencingMode.Bar(write, r.Token), r.F, raises, r.Key, r.Process, r.Grant, r.Parent).Slice()
	var said redis.Error
	var dial *net.OpError
	switch {
	case errors.As(err, &said):
		return register.Reply{}, fmt.Errorf("register %s: %w", p.Addr, err)
	case errors.As(err, &dial) && dial.Op == "dial":
		return register.Reply{}, p.NotSent(err)
	case err != nil:
		return register.Reply{}, p.InDoubt(r, err)
	case len(got) != 4:
		return register.Reply{}, p.InDoubt(r, fmt.Errorf("an answer of %d parts", len(got)))
	}
	refused, _ := got[0].(int64)
	value, _ := got[1].(string)
	version, _ := got[2].(int64)
	highest, _ := got[3].(int64)
	if refused == 1 {
		return register.Reply{}, p.FencingMode.Refused(r, highest)
	}
	return register.Reply{Value: value, Version: version}, nil
}

// openRedis makes a client that never sends a request twice.
func openRedis(addr string) *redis.Client {
	logging.Disable() // it logs every dial that a fault makes fail
	return redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, PoolSize: 1, ContextTimeoutEnabled: true,
		ReadTimeout: 30 * time.Second, DisableIdentity: true,
	})
}

type redisAdmin struct {
	db     *redis.Client
	mode   register.FencingMode
	offset int64 // from the server's clock to the run's, in ns
}

func openRedisAdmin(ctx context.Context, addr string, m register.FencingMode, _ []string, start int64) (register.Admin, error) {
	a := &redisAdmin{db: openRedis(addr), mode: m}
	err := redisScript.Load(ctx, a.db).Err()
	if err == nil {
		a.offset, err = register.ClockOffset(start, func() (int64, error) {
			t, err := a.db.Time(ctx).Result()
			return t.UnixNano(), err
		})
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *redisAdmin) Log(ctx context.Context) ([]history.Effect, error) {
	entries, err := a.db.XRange(ctx, redisLog, "-", "+").Result()
	if err != nil {
		return nil, err
	}
	var out []history.Effect
	for i, x := range entries {
		word := func(name string) string { s, _ := x.Values[name].(string); return s }
		var bad error
		number := func(name string) int64 {
			// Lua writes large numbers as 1.7e+15.
			f, err := strconv.ParseFloat(strings.TrimSpace(word(name)), 64)
			bad = errors.Join(bad, err)
			return int64(f)
		}
		e := a.mode.Effect(history.Effect{
			Seq: int64(i + 1), Time: number("at")*1000 + a.offset, Process: word("process"), F: word("f"), Key: word("key"), Grant: word("grant"),
			Token: number("token"), Value: word("value"), Parent: word("parent"), Version: number("version"), Highest: number("highest"),
		}, word("refused") == "1")
		if bad != nil {
			return nil, fmt.Errorf("entry %s: %w", x.ID, bad)
		}
		out = append(out, e)
	}
	return out, nil
}

func (a *redisAdmin) Close() error { return a.db.Close() }
