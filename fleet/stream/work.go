package stream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/internal/format"
)

// Send puts items onto the queue. If an item is sent again within two minutes, the queue holds it
// once. Later a second worker may run it, and its first result counts.
func (c *Campaign) Send(ctx context.Context, items []fleet.Item) error {
	for _, i := range items {
		b, err := json.Marshal(i)
		if err != nil {
			return fmt.Errorf("send item %s: %w", i.ID(), err)
		}
		err = retry(ctx, func(ctx context.Context) error {
			if _, err := c.q.js.Publish(ctx, c.subject(i.Job), b, jetstream.WithMsgID(c.ID+"."+i.ID())); err != nil {
				return fmt.Errorf("send item %s: %w", i.ID(), err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Mark stores that a step is done, so that a restart does not repeat it.
func (c *Campaign) Mark(ctx context.Context, what string) error {
	return put(ctx, c.kv, "mark."+what, true)
}

// Marked says whether a step is marked.
func (c *Campaign) Marked(ctx context.Context, what string) (bool, error) {
	var v bool
	return get(ctx, c.kv, "mark."+what, &v)
}

// Stop says that a job's time is over: workers skip the items that still wait.
func (c *Campaign) Stop(ctx context.Context, job int) error {
	return c.Mark(ctx, fmt.Sprintf("stop.%d", job))
}

// Stopped says whether a job's time is over.
func (c *Campaign) Stopped(ctx context.Context, job int) (bool, error) {
	return c.Marked(ctx, fmt.Sprintf("stop.%d", job))
}

// Waiting counts the items of a job that wait and those that workers have.
type Waiting struct {
	Campaign  string
	Job       int
	Waits, On int
}

// Waiting lists the items on the queue, by job.
func (q *Queue) Waiting(ctx context.Context) ([]Waiting, error) {
	var out []Waiting
	err := retry(ctx, func(ctx context.Context) error {
		out = nil
		s, err := q.js.Stream(ctx, workStream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil // there was no campaign yet
		}
		if err != nil {
			return fmt.Errorf("read the queue: %w", err)
		}
		list := s.ListConsumers(ctx)
		for i := range list.Info() {
			if campaign, job, ok := ofConsumer(i.Name); ok {
				out = append(out, Waiting{campaign, job, int(i.NumPending), i.NumAckPending})
			}
		}
		if list.Err() != nil {
			return fmt.Errorf("read the queue: %w", list.Err())
		}
		return nil
	})
	return out, err
}

// Taken is an item that this worker must finish or return.
type Taken struct {
	Item      fleet.Item
	Delivered int // how often a worker took it, including this time

	c   *Campaign
	msg jetstream.Msg
}

// Take takes an item of a job, and waits up to wait for one; nil if there is none. If the item cannot
// be read, the error is ErrUnreadable, and the item is dead-lettered.
func (c *Campaign) Take(ctx context.Context, job int, wait time.Duration) (*Taken, error) {
	var t *Taken
	err := retry(ctx, func(ctx context.Context) error {
		cons, err := c.q.js.Consumer(ctx, workStream, c.consumer(job))
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil // the campaign has ended
		}
		if err != nil {
			return fmt.Errorf("take an item: %w", err)
		}
		batch, err := cons.Fetch(1, jetstream.FetchMaxWait(wait))
		if err != nil {
			return fmt.Errorf("take an item: %w", err)
		}
		for msg := range batch.Messages() {
			t, err = c.taken(ctx, msg)
			return err
		}
		err = batch.Error()
		if err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jetstream.ErrConsumerDeleted) {
			return nil // no item came, or the campaign has ended
		}
		return fmt.Errorf("take an item: %w", err)
	})
	return t, err
}

func (c *Campaign) taken(ctx context.Context, msg jetstream.Msg) (*Taken, error) {
	t := &Taken{c: c, msg: msg, Delivered: 1}
	if m, err := msg.Metadata(); err == nil {
		t.Delivered = int(m.NumDelivered)
	}
	if err := json.Unmarshal(msg.Data(), &t.Item); err != nil {
		return nil, c.unreadable(ctx, msg, err)
	}
	return t, nil
}

var itemID = regexp.MustCompile(`^[0-9]+\.[a-z]+\.[0-9]+$`)

// unreadable dead-letters an item whose text cannot be read: its message has the ID that Send gave
// it. A message without one is none that a coordinator waits for.
func (c *Campaign) unreadable(ctx context.Context, msg jetstream.Msg, why error) error {
	why = fmt.Errorf("an item of campaign %s: %w: %w", c.ID, ErrUnreadable, why)
	id := strings.TrimPrefix(msg.Headers().Get(jetstream.MsgIDHeader), c.ID+".")
	if itemID.MatchString(id) {
		b, err := json.Marshal(fleet.Result{Item: id, DeadLetter: why.Error()})
		if err == nil {
			_, err = c.kv.Create(ctx, "done."+id, b)
		}
		if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
			return fmt.Errorf("dead-letter item %s: %w", id, err)
		}
	}
	return errors.Join(why, msg.Term())
}

// Keep keeps the item from other workers until stop is called.
func (t *Taken) Keep() (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(ackWait / 4)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				_ = t.msg.InProgress() // the next one may reach the queue
			}
		}
	}()
	return sync.OnceFunc(func() { close(over); <-done })
}

// Finished says whether a worker has finished the item.
func (t *Taken) Finished(ctx context.Context) (bool, error) {
	b, err := value(ctx, t.c.kv, doneKey(t.Item))
	return b != nil, err // the coordinator reads it
}

// Done stores the result of the item and takes the item off the queue. The first result of an item
// counts, a second one is dropped.
func (t *Taken) Done(ctx context.Context, r fleet.Result, p *fleet.Payload) error {
	if p != nil {
		var err error
		// A name of its own for each attempt: the chunks of an object that is replaced are purged, which
		// is no right of a worker.
		name := func() string { return t.Item.ID() + "/" + r.Worker + "/" + rand.Text() }
		if r.Object, err = t.c.putObject(ctx, name, p); err != nil {
			return err
		}
	}
	r.Item = t.Item.ID()
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("store the result of item %s: %w", r.Item, err)
	}
	err = retry(ctx, func(ctx context.Context) error {
		if _, err := t.c.kv.Create(ctx, doneKey(t.Item), b); err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
			return fmt.Errorf("store the result of item %s: %w", r.Item, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.Drop(ctx)
}

// Drop takes the item off the queue. If the campaign has ended meanwhile, the queue has removed it:
// the coordinator may have had the last result.
func (t *Taken) Drop(ctx context.Context) error {
	return retry(ctx, func(ctx context.Context) error {
		// If the queue is gone, nothing answers. Half of the time remains to find that out.
		acked, cancel := context.WithTimeout(ctx, askWithin/2)
		defer cancel()
		err := t.msg.DoubleAck(acked)
		if err == nil || errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			return nil
		}
		if _, cerr := t.c.q.js.Consumer(ctx, workStream, t.c.consumer(t.Item.Job)); errors.Is(cerr, jetstream.ErrConsumerNotFound) || errors.Is(cerr, jetstream.ErrStreamNotFound) {
			return nil
		}
		return fmt.Errorf("take item %s off the queue: %w", t.Item.ID(), err)
	})
}

// Failed returns the item for another worker, and stores the error.
func (t *Taken) Failed(ctx context.Context, worker string, cause error) error {
	key := fmt.Sprintf("fail.%s.%d", t.Item.ID(), t.Delivered)
	if err := put(ctx, t.c.kv, key, fmt.Sprintf("%s: %v", worker, cause)); err != nil {
		return err
	}
	if err := t.msg.NakWithDelay(time.Duration(t.Delivered) * time.Second); err != nil {
		return fmt.Errorf("return item %s: %w", t.Item.ID(), err)
	}
	return nil
}

// returnWithin bounds a return: the worker is about to end.
const returnWithin = 2 * time.Second

// Return returns the item at once, because this worker ends. It is no attempt (see Attempted), unless
// the queue does not answer any more.
func (t *Taken) Return() error {
	ctx, cancel := context.WithTimeout(context.Background(), returnWithin)
	defer cancel()
	_, _ = t.c.kv.Put(ctx, fmt.Sprintf("return.%s.%d", t.Item.ID(), t.Delivered), nil) // without it, it counts as an attempt
	return t.msg.Nak()
}

// Attempted is how many workers tried the item before this one, and failed or were lost with it.
func (t *Taken) Attempted(ctx context.Context) (int, error) {
	before := t.Delivered - 1
	if before == 0 {
		return before, nil
	}
	returns, err := entries(ctx, t.c.kv, "return."+t.Item.ID()+".*")
	return before - len(returns), err
}

// Failures are the errors of the item so far.
func (t *Taken) Failures(ctx context.Context) (string, error) {
	list, err := all[string](ctx, t.c.kv, "fail."+t.Item.ID()+".*")
	if err != nil && !errors.Is(err, ErrUnreadable) {
		return "", err
	}
	tried, err := t.Attempted(ctx)
	if lost := tried - len(list); lost > 0 {
		list = append(list, fmt.Sprintf("%d %s that took it disappeared", lost, format.Noun(lost, "worker", "workers")))
	}
	return strings.Join(list, "; "), err
}
