package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/internal/adapter"
)

func queueInfo() clients.Info {
	return clients.WithoutLock(clients.Info{
		Name:    "queue",
		About:   "no lock: clients put their updates into a Redis list, and one client carries out all (option consumers)",
		Cluster: "redis",
		Options: []clients.Option{{
			Name: "consumers", About: "how many clients carry out updates; with more than one, nothing keeps them from doing so at the same time",
			Default: "1", Check: adapter.Checks(parseConsumers),
		}},
		Unlocked: func(_ context.Context, o clients.Options) (clients.Unlocked, error) {
			if len(o.Servers) == 0 {
				return nil, errors.New("queue: no server given")
			}
			n, err := adapter.Read(o, "consumers", 1, parseConsumers)
			if err != nil {
				return nil, fmt.Errorf("queue: %w", err)
			}
			q := queue{newRedisLock(o, o.Servers[0], o.TTL)}
			// The consumers are fixed before the start, as in a deployment with one replica: to
			// elect one would take a lock.
			if i, err := strconv.Atoi(strings.TrimLeft(o.Client, "abcdefghijklmnopqrstuvwxyz")); err == nil && i <= n {
				return consumer{q, ":doing:" + o.Client}, nil
			}
			return q, nil
		},
	})
}

func parseConsumers(text string) (int, error) {
	n, err := adapter.ParseCount(text)
	if err == nil && n == 0 {
		err = errors.New("at least one client has to carry out the updates")
	}
	return n, err
}

// queue is a client whose updates another one carries out: a reliable queue of two lists (https://redis.io/docs/latest/commands/lmove/). An update that was answered
// was carried out.
type queue struct{ *redisLock }

// job is an update in the queue.
type job struct {
	Process string `json:"process"`
	Element string `json:"element"`
}

// The names of a key's lists, and of the record that an update was carried out.
const (
	queueJobs = ":jobs"
	queueDone = ":done:"
)

// queueKept is how long that record stays.
const queueKept = time.Minute

func (q queue) Update(ctx context.Context, s clients.Turn) error {
	return s.Add(ctx, func(element string) error {
		text, err := json.Marshal(job{q.options.Client, element})
		if err != nil {
			return fmt.Errorf("queue: %w", err)
		}
		if _, _, err := q.do(ctx, element, "RPUSH", s.Key()+queueJobs, text); err != nil {
			return fmt.Errorf("queue: put %s: %w", s.Key(), err)
		}
		var last error
		for {
			n, _, err := q.do(ctx, "", "EXISTS", s.Key()+queueDone+element)
			if n == int64(1) {
				return nil
			}
			if ctx.Err() == nil {
				last = err
			}
			if !adapter.Pause(ctx, q.ttl/50) {
				return fmt.Errorf("queue: put %s: %w: %w: not carried out yet (last: %w)", s.Key(), clients.ErrUnknown, ctx.Err(), orNone(last))
			}
		}
	})
}

func orNone(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// consumer is the client that carries the updates out, one after the other. It takes
// an update out of its own list only when that is done: after a crash it finds it
// there and does it again, under the same idempotency key.
type consumer struct {
	queue
	doing string // its own list, after the key
}

func (c consumer) Update(ctx context.Context, s clients.Turn) error {
	// At the run's end this is the last client: it carries out first what others wait for.
	for begin := time.Now(); time.Since(begin) < c.ttl || s.Over(); {
		text, err := c.next(ctx, s)
		if err != nil {
			return fmt.Errorf("queue: take from %s: %w", s.Key(), err)
		}
		if err := c.execute(ctx, s, text); err != nil {
			return err
		}
	}
	return nil
}

func (c consumer) execute(ctx context.Context, s clients.Turn, text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return fmt.Errorf("queue: take from %s: %q is no update: %w", s.Key(), text, err)
	}
	seen, err := s.Read(ctx)
	if err != nil {
		return err
	}
	if !s.Work(ctx) {
		return ctx.Err()
	}
	if err := s.Send(ctx, clients.Change{Process: j.Process, Element: j.Element, Parent: seen.Value, Once: j.Element}); err != nil {
		return err
	}
	if _, _, err := c.do(ctx, "", "SET", s.Key()+queueDone+j.Element, "1", "PX", queueKept.Milliseconds()); err != nil {
		return fmt.Errorf("queue: answer %s: %w", j.Process, err)
	}
	if _, _, err := c.do(ctx, "", "LREM", s.Key()+c.doing, 1, text); err != nil {
		return fmt.Errorf("queue: take from %s: %w", s.Key(), err)
	}
	return nil
}

var errQueueEmpty = errors.New("nothing is left to do")

// next returns the update that was begun, or else the oldest that waits.
func (c consumer) next(ctx context.Context, s clients.Turn) (string, error) {
	for {
		v, _, err := c.do(ctx, "", "LINDEX", s.Key()+c.doing, 0)
		if errors.Is(err, redis.Nil) {
			v, _, err = c.do(ctx, "", "LMOVE", s.Key()+queueJobs, s.Key()+c.doing, "LEFT", "RIGHT")
		}
		if text, ok := v.(string); ok && err == nil {
			return text, nil
		}
		switch {
		case err != nil && !errors.Is(err, redis.Nil):
			return "", err
		case s.Over():
			return "", errQueueEmpty
		case !adapter.Pause(ctx, c.ttl/50):
			return "", ctx.Err()
		}
	}
}
