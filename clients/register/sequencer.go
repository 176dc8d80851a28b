package register

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Sequencer asks the lock service whether a grant is in force. It is what Chubby
// calls the check of a sequencer (Burrows, OSDI 2006, section 2.4).
type Sequencer interface {
	// Valid says whether the grant with this token held the lock on key at some
	// instant between the call and its return. An error means that this is unknown.
	Valid(ctx context.Context, key string, token int64) (bool, error)
	Close() error
}

// askWithin bounds one question to the lock service. The client has usually disconnected long
// before, which ends the question too.
const askWithin = 30 * time.Second

// questions is one connection's access to the lock service, made when it is first needed. Each
// has its own, so that a delayed answer blocks no other.
type questions struct {
	open func(context.Context) (Sequencer, error) // nil: the fencing mode asks nothing
	seq  Sequencer
}

// over asks the lock service whether the request's grant is over.
func (q *questions) over(ctx context.Context, r Request) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if q.seq == nil {
		if q.open == nil {
			return false, errors.New("the register was started without its servers")
		}
		var err error
		if q.seq, err = q.open(ctx); err != nil {
			return false, err
		}
	}
	ok, err := q.seq.Valid(ctx, r.Key, r.Token)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // the client has disconnected and would not learn of an effect
	}
	return !ok, err
}

func (q *questions) close() {
	if q.seq != nil {
		// The register ends, or the client has disconnected: no one reads the error.
		_ = q.seq.Close()
	}
}

// turns serializes the requests for a key, from the question to the effect. So an answer is still
// valid at the effect: if the grant was in force when the question was asked, no newer one has
// touched the key since.
type turns struct {
	mu   sync.Mutex
	keys map[string]chan struct{}
}

// take waits for the key's turn until ctx ends.
func (t *turns) take(ctx context.Context, key string) (done func(), err error) {
	t.mu.Lock()
	if t.keys == nil {
		t.keys = map[string]chan struct{}{}
	}
	turn := t.keys[key]
	if turn == nil {
		turn = make(chan struct{}, 1)
		t.keys[key] = turn
	}
	t.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the request before it: %w", ctx.Err())
	}
}
