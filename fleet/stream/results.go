package stream

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/fleet"
)

func doneKey(i fleet.Item) string { return "done." + i.ID() }

// Results tells of every result there is, and of each that comes, until ctx ends.
func (c *Campaign) Results(ctx context.Context, tell func(fleet.Result) error) error {
	for {
		err := c.results(ctx, tell)
		if err == nil || ctx.Err() != nil || !passing(err) {
			return err
		}
	}
}

func (c *Campaign) results(ctx context.Context, tell func(fleet.Result) error) error {
	var w jetstream.KeyWatcher
	err := patiently(ctx, func(context.Context) (err error) {
		if w, err = c.kv.Watch(ctx, "done.>"); err != nil {
			return fmt.Errorf("watch the results: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }() // the connection may be gone before
	for {
		select {
		case e, ok := <-w.Updates():
			if !ok {
				return jetstream.ErrNoHeartbeat
			}
			if e == nil || e.Operation() != jetstream.KeyValuePut {
				continue
			}
			if err := tell(resultOf(e.Key(), e.Value())); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ResultsNow lists the results that there are.
func (c *Campaign) ResultsNow(ctx context.Context) ([]fleet.Result, error) {
	entries, err := entries(ctx, c.kv, "done.>")
	out := make([]fleet.Result, len(entries))
	for i, e := range entries {
		out[i] = resultOf(e.Key(), e.Value())
	}
	return out, err
}

// resultOf reads a result. Nobody does the item of one that cannot be read again, for it counts
// as done: it is told as one that nobody could do.
func resultOf(key string, b []byte) fleet.Result {
	item := strings.TrimPrefix(key, "done.")
	var r fleet.Result
	err := json.Unmarshal(b, &r)
	if err == nil && r.Item != item {
		err = fmt.Errorf("it says that it is of %q", r.Item)
	}
	if err != nil {
		return fleet.Result{Item: item, Dead: fmt.Sprintf("what came of it cannot be read: %v", err)}
	}
	return r
}

// largest is how large a payload may be when it is unpacked: what a worker sends is not to
// fill a coordinator's memory.
const largest = 256 << 20

func (c *Campaign) putObject(ctx context.Context, name string, v any) (string, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	err := json.NewEncoder(z).Encode(v)
	if err = errors.Join(err, z.Close()); err != nil {
		return "", fmt.Errorf("pack %s: %w", name, err)
	}
	return name, patiently(ctx, func(ctx context.Context) error {
		if _, err := c.objects.PutBytes(ctx, name, b.Bytes()); err != nil {
			return fmt.Errorf("send %s: %w", name, err)
		}
		return nil
	})
}

// Payload reads what came of an item.
func (c *Campaign) Payload(ctx context.Context, name string) (*fleet.Payload, error) {
	var p fleet.Payload
	return &p, c.object(ctx, name, &p)
}

// reportObject is the name of what a campaign came to. No item has such a name.
const reportObject = "report"

// Report keeps what the campaign came to, so that those who know the queue alone can show it,
// and compare it.
func (c *Campaign) Report(ctx context.Context, r *fleet.Report) error {
	_, err := c.putObject(ctx, reportObject, r)
	return err
}

// Reported reads what Report kept; nil where there is nothing.
func (c *Campaign) Reported(ctx context.Context) (*fleet.Report, error) {
	var r fleet.Report
	err := c.object(ctx, reportObject, &r)
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case r.ID != c.ID:
		return nil, fmt.Errorf("what campaign %s came to: %w: it says that it is of %q", c.ID, ErrUnreadable, r.ID)
	}
	return &r, nil
}

// object unpacks an object.
func (c *Campaign) object(ctx context.Context, name string, v any) error {
	var b []byte
	err := patiently(ctx, func(ctx context.Context) (err error) {
		if b, err = c.objects.GetBytes(ctx, name); err != nil {
			return fmt.Errorf("fetch %s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("unpack %s: %w: %w", name, ErrUnreadable, err)
	}
	if err := json.NewDecoder(io.LimitReader(z, largest)).Decode(v); err != nil {
		return fmt.Errorf("unpack %s: %w: %w", name, ErrUnreadable, err)
	}
	return nil
}
