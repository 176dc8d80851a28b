package stream

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/hunt"
)

// Tell says how a worker is. Who does not say so for two minutes is no longer shown.
func (q *Queue) Tell(ctx context.Context, w fleet.Worker) error {
	kv, err := q.js.KeyValue(ctx, workers)
	if err != nil {
		return fmt.Errorf("tell how the worker is: %w", err)
	}
	b, err := json.Marshal(w)
	if err == nil {
		_, err = kv.Put(ctx, keyOf(w.Name), b)
	}
	if err != nil {
		return fmt.Errorf("tell how the worker is: %w", err)
	}
	return nil
}

// Workers lists who works. Who cannot be read is left out and told with ErrUnreadable.
func (q *Queue) Workers(ctx context.Context) ([]fleet.Worker, error) {
	kv, err := q.bucket(ctx, workers)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := all[fleet.Worker](ctx, kv, ">")
	slices.SortFunc(out, func(a, b fleet.Worker) int { return cmp.Compare(a.Name, b.Name) })
	return out, err
}

// keyOf is a key for any text.
func keyOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// Found tells all workers of a way that a job's hunt has: none confirms it again.
func (c *Campaign) Found(ctx context.Context, job int, s hunt.Signature) error {
	return put(ctx, c.kv, fmt.Sprintf("way.%d.%s", job, keyOf(s.String())), s)
}

// Ways lists what a job's hunt has found.
func (c *Campaign) Ways(ctx context.Context, job int) ([]hunt.Signature, error) {
	out, err := all[hunt.Signature](ctx, c.kv, fmt.Sprintf("way.%d.*", job))
	if errors.Is(err, ErrUnreadable) {
		err = nil // of another version: it is found again
	}
	return out, err
}
