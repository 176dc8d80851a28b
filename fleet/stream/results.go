package stream

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/fleet"
)

func doneKey(i fleet.Item) string { return "done." + i.ID() }

// Results calls each with every result that exists, and with each new one, until ctx ends.
func (c *Campaign) Results(ctx context.Context, each func(fleet.Result) error) error {
	for {
		err := c.results(ctx, each)
		if err == nil || ctx.Err() != nil || !isTransient(err) {
			return err
		}
	}
}

func (c *Campaign) results(ctx context.Context, each func(fleet.Result) error) error {
	var w jetstream.KeyWatcher
	err := retry(ctx, func(context.Context) (err error) {
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
			if err := each(resultOf(e.Key(), e.Value())); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ResultsNow lists the results that exist.
func (c *Campaign) ResultsNow(ctx context.Context) ([]fleet.Result, error) {
	entries, err := entries(ctx, c.kv, "done.>")
	out := make([]fleet.Result, len(entries))
	for i, e := range entries {
		out[i] = resultOf(e.Key(), e.Value())
	}
	return out, err
}

// resultOf reads a result. If it cannot be read, no worker runs its item again, because the item
// counts as done. So its item counts as dead-lettered.
func resultOf(key string, b []byte) fleet.Result {
	item := strings.TrimPrefix(key, "done.")
	var r fleet.Result
	err := json.Unmarshal(b, &r)
	if err == nil && r.Item != item {
		err = fmt.Errorf("it names the item %q", r.Item)
	}
	if err != nil {
		return fleet.Result{Item: item, DeadLetter: fmt.Sprintf("its result cannot be read: %v", err)}
	}
	return r
}

// largest bounds an unpacked payload: a worker must not fill the coordinator's memory.
const largest = 256 << 20

// putObject stores an object under the name that name makes for each attempt.
func (c *Campaign) putObject(ctx context.Context, name func() string, v any) (stored string, err error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	err = json.NewEncoder(z).Encode(v)
	if err = errors.Join(err, z.Close()); err != nil {
		return "", fmt.Errorf("pack %s: %w", name(), err)
	}
	err = retry(ctx, func(ctx context.Context) error {
		stored = name()
		if _, err := c.objects.PutBytes(ctx, stored, b.Bytes()); err != nil {
			return fmt.Errorf("send %s: %w", stored, err)
		}
		return nil
	})
	return stored, err
}

// objectName is an object's name as the subjects of the server have it.
func objectName(name string) string { return base64.URLEncoding.EncodeToString([]byte(name)) }

// Payload reads the payload of an item.
func (c *Campaign) Payload(ctx context.Context, name string) (*fleet.Payload, error) {
	var p fleet.Payload
	return &p, c.object(ctx, name, &p)
}

// reportObject is the name of a campaign's report. No item has such a name.
const reportObject = "report"

// Report stores the campaign's report for clients that have the queue and not the folder.
func (c *Campaign) Report(ctx context.Context, r *fleet.Report) error {
	_, err := c.putObject(ctx, func() string { return reportObject }, r)
	return err
}

// Reported reads the report that Report stored; nil if there is none.
func (c *Campaign) Reported(ctx context.Context) (*fleet.Report, error) {
	var r fleet.Report
	err := c.object(ctx, reportObject, &r)
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case r.ID != c.ID:
		return nil, fmt.Errorf("the report of campaign %s: %w: it names campaign %q", c.ID, ErrUnreadable, r.ID)
	}
	return &r, nil
}

// object reads and unpacks an object.
func (c *Campaign) object(ctx context.Context, name string, v any) error {
	var b []byte
	err := retry(ctx, func(ctx context.Context) (err error) {
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
