package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// put writes a value.
func put(ctx context.Context, kv jetstream.KeyValue, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return retry(ctx, func(ctx context.Context) error {
		if _, err := kv.Put(ctx, key, b); err != nil {
			return fmt.Errorf("write %s: %w", key, err)
		}
		return nil
	})
}

// get reads a value; false if there is none.
func get(ctx context.Context, kv jetstream.KeyValue, key string, v any) (bool, error) {
	b, err := value(ctx, kv, key)
	if err != nil || b == nil {
		return false, err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return false, fmt.Errorf("%s of %s: %w: %w", key, kv.Bucket(), ErrUnreadable, err)
	}
	return true, nil
}

// value is a value as it was written; nil if there is none.
func value(ctx context.Context, kv jetstream.KeyValue, key string) (b []byte, err error) {
	err = retry(ctx, func(ctx context.Context) error {
		e, err := kv.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		b = append([]byte{}, e.Value()...)
		return nil
	})
	return b, err
}

// ErrUnreadable says that the queue holds something that cannot be read, for example from another
// version. All that can be read is returned beside the error.
var ErrUnreadable = errors.New("it cannot be read")

// all reads the values whose keys match. If some cannot be read, the error is ErrUnreadable with
// their keys.
func all[T any](ctx context.Context, kv jetstream.KeyValue, keys string) ([]T, error) {
	entries, err := entries(ctx, kv, keys)
	var out []T
	var bad []error
	for _, e := range entries {
		var v T
		if err := json.Unmarshal(e.Value(), &v); err != nil {
			bad = append(bad, fmt.Errorf("%s of %s: %w: %w", e.Key(), kv.Bucket(), ErrUnreadable, err))
			continue
		}
		out = append(out, v)
	}
	return out, errors.Join(append(bad, err)...)
}

// entries reads the entries whose keys match.
func entries(ctx context.Context, kv jetstream.KeyValue, keys string) (out []jetstream.KeyValueEntry, err error) {
	err = retry(ctx, func(ctx context.Context) error {
		out = nil
		w, err := kv.Watch(ctx, keys, jetstream.IgnoreDeletes())
		if err != nil {
			return fmt.Errorf("read %s of %s: %w", keys, kv.Bucket(), err)
		}
		defer func() { _ = w.Stop() }() // it has delivered everything
		for {
			select {
			case e, ok := <-w.Updates():
				switch {
				case !ok:
					return fmt.Errorf("read %s of %s: %w", keys, kv.Bucket(), jetstream.ErrNoHeartbeat)
				case e == nil:
					return nil
				}
				out = append(out, e)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	return out, err
}
