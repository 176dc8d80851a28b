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
	// instant between the call and its return. An error means that nobody knows.
	Valid(ctx context.Context, key string, token int64) (bool, error)
	Close() error
}

// askWithin bounds one question to the lock service. Who asked the register has
// mostly hung up long before, which ends the question too.
const askWithin = 30 * time.Second

// questions is one connection's way to the lock service, made when it is first
// needed. Each has its own, so that an answer that is held back holds nobody else up.
type questions struct {
	open func(context.Context) (Sequencer, error) // nil: the fencing mode asks nothing
	seq  Sequencer
}

// over says whether the lock service says that the request's grant is over.
func (q *questions) over(ctx context.Context, r Request) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if q.seq == nil {
		if q.open == nil {
			return false, errors.New("the register has no way to it")
		}
		var err error
		if q.seq, err = q.open(ctx); err != nil {
			return false, err
		}
	}
	ok, err := q.seq.Valid(ctx, r.Key, r.Token)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // whoever asked has hung up: nobody would learn of an effect
	}
	return !ok, err
}

func (q *questions) close() {
	if q.seq != nil {
		// The register ends, or nobody asks any more: there is nobody to tell.
		_ = q.seq.Close()
	}
}

// turns lets the requests for a key go one after the other, from the question to
// the effect. That is what makes an answer as good as new: if the grant was in force
// when the question was asked, no newer one has touched the key since.
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
