// Package register is the resource that a lock protects: a small server with a
// value per key that may refuse requests by their fencing token, and logs the
// order in which it carried them out. It must not know the lock
// service that the tokens come from, nor what its log will be used to prove.
package register

import (
	"errors"
	"fmt"

	"github.com/picklock/picklock/history"
)

// Request is one operation on one key, and its line on the wire.
type Request struct {
	ID      int64  `json:"id"` // set by the client; the reply repeats it
	F       string `json:"f"`  // history.Read, Write or Add
	Key     string `json:"key"`
	Process string `json:"process"`
	Grant   string `json:"grant,omitempty"`
	Token   int64  `json:"token,omitempty"` // 0: the lock gives none
	Value   string `json:"value,omitempty"` // write, add: unique in a run
	// Parent is the value that an add extends, as the client had read it: the
	// client computed the set {members of Parent} + Value and writes it blindly,
	// whatever the key holds by then. Only Value travels.
	Parent string `json:"parent,omitempty"`
	Unlocked

	// over: the lock service answers that the grant is no longer in force.
	over bool
}

// Reply is what a request that was carried out returns.
type Reply struct {
	Value   string `json:"value,omitempty"` // after the request; "" for a key never written
	Version int64  `json:"version"`         // 0 for a key never written; each write or add makes a new one
}

// errBadRequest marks a request that the register cannot carry out under any
// mode. It has no effect and is not logged.
var errBadRequest = errors.New("bad request")

// Store is the register's state: no network, no clock. It is not safe for
// concurrent use; Serve orders the requests.
type Store struct {
	// Start is the run's start on history.Now's clock; the times in the log
	// count from it.
	Start int64

	mode FencingMode
	seq  int64
	keys map[string]*cell
}

type cell struct {
	value   string
	version int64
	highest int64
	parents map[string]string // of every value ever accepted; "" ends a chain
	once    map[string]done   // by idempotency key
}

// NewStore makes an empty register. start is the run's start (history.Now).
func NewStore(m FencingMode, start int64) *Store {
	return &Store{Start: start, mode: m, keys: map[string]*cell{}}
}

// Apply carries out or refuses one request and returns the effect to log; now
// is the effect's time. A refusal is in the effect's Error. An effect without a
// sequence number is no effect: the request had been carried out before (see
// Unlocked.Once). An error means that the request was malformed and had no effect.
func (s *Store) Apply(r Request, now int64) (history.Effect, error) {
	c := s.keys[r.Key]
	if c == nil {
		c = &cell{parents: map[string]string{}}
	}
	e, again, err := c.again(r)
	if again {
		return e, nil
	}
	if err := errors.Join(err, c.valid(r), r.valid(r)); err != nil {
		return history.Effect{}, fmt.Errorf("%w: %w", errBadRequest, err)
	}
	if r.Merge {
		r.Parent = c.value
	}
	s.keys[r.Key] = c
	s.seq++
	write := r.F != history.Read
	e = history.Effect{
		Seq: s.seq, Time: now, Process: r.Process, F: r.F, Key: r.Key,
		Grant: r.Grant, Token: r.Token, Value: r.Value, Parent: r.Parent,
	}
	e.Error = s.mode.refuse(write, r.Token, c.highest)
	if e.Error == "" && r.over {
		e.Error = fmt.Sprintf("token %d is no longer in force", r.Token)
	}
	if e.Error == "" {
		e.Error = c.outdated(r.Unlocked)
	}
	if e.Error == "" {
		if write {
			c.value, c.version = r.Value, c.version+1
			c.parents[r.Value] = r.Parent
			c.remember(r)
		} else {
			e.Value = c.value
		}
		if s.mode.Raises(write) {
			c.highest = max(c.highest, r.Token)
		}
	}
	e.Version, e.Highest = c.version, c.highest
	return e, nil
}

func (c *cell) valid(r Request) error {
	if r.Key == "" || r.Process == "" {
		return errors.New("a request needs a key and a process")
	}
	if r.Token < 0 {
		return fmt.Errorf("negative token %d", r.Token)
	}
	switch r.F {
	case history.Read:
		if r.Value != "" || r.Parent != "" {
			return errors.New("a read carries no value and no parent")
		}
		return nil
	case history.Write, history.Add:
	default:
		return fmt.Errorf("unknown operation %q: want read, write or add", r.F)
	}
	if r.Value == "" {
		return fmt.Errorf("%s needs a value", r.F)
	}
	if _, ok := c.parents[r.Value]; ok {
		return fmt.Errorf("value %q was written before: values are unique in a run", r.Value)
	}
	if r.Parent == "" {
		return nil
	}
	if r.F == history.Write {
		return errors.New("a write has no parent")
	}
	if _, ok := c.parents[r.Parent]; !ok {
		return fmt.Errorf("parent %q was never a value of the key", r.Parent)
	}
	return nil
}
