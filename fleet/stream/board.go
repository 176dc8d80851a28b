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

// Heartbeat publishes the state of a worker. After two minutes without one the worker is no longer
// listed.
func (q *Queue) Heartbeat(ctx context.Context, w fleet.Worker) error {
	kv, err := q.js.KeyValue(ctx, workers)
	if err != nil {
		return fmt.Errorf("send the worker's heartbeat: %w", err)
	}
	b, err := json.Marshal(w)
	if err == nil {
		_, err = kv.Put(ctx, keyOf(w.Name), b)
	}
	if err != nil {
		return fmt.Errorf("send the worker's heartbeat: %w", err)
	}
	return nil
}

// Workers lists the workers. If some cannot be read, the error is ErrUnreadable, beside the others.
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

// keyOf is a valid key for any text.
func keyOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// AddCounterexample publishes a counterexample of a job, so that no worker confirms it again.
func (c *Campaign) AddCounterexample(ctx context.Context, job int, s hunt.Signature) error {
	return put(ctx, c.kv, fmt.Sprintf("counterexample.%d.%s", job, keyOf(s.String())), s)
}

// Counterexamples lists those of a job.
func (c *Campaign) Counterexamples(ctx context.Context, job int) ([]hunt.Signature, error) {
	out, err := all[hunt.Signature](ctx, c.kv, fmt.Sprintf("counterexample.%d.*", job))
	if errors.Is(err, ErrUnreadable) {
		err = nil // another version wrote it: this one finds it again
	}
	return out, err
}
