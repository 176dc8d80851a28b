// Package adapter speaks picklock's exec protocol for a lock in Go: one request or answer a line, as
// JSON (https://github.com/picklock/picklock/blob/main/docs/reference/exec.md). It imports nothing but
// the standard library, because each client is built with its own library's dependencies.
package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// ErrNotSent says that a request certainly had no effect. Of any other error nobody knows whether it had.
var ErrNotSent = errors.New("not sent")

// Open is what a client is told once, at first. Servers are "host:port".
type Open struct {
	Servers []string
	Client  string
	TTL     time.Duration
	Options map[string]string
}

// Lease is how long the service promises a grant, from Since (Monotonic) on: right before the request
// that was answered.
type Lease struct {
	For   time.Duration
	Since int64
}

// Grant is what an acquire has got. A Token of 0 and a Lease of nil are none.
type Grant struct {
	Token   int64
	Lease   *Lease
	Expired bool // by what the library tells its user, the lock is over
}

// Abilities are the fields of the protocol that say what the lock can do.
type Abilities map[string]any

// Lock is the lock under test.
type Lock interface {
	// Open is called once.
	Open(o Open) (Abilities, error)
	// Acquire returns nil if the lock was not to be had before the context ended: its time is over, or it was cancelled.
	Acquire(ctx context.Context, key string) (*Grant, error)
	// Release returns false if the service says that the lock was no longer the client's.
	Release(key string) (bool, error)
}

// Renewer is a lock whose lease can be started anew.
type Renewer interface {
	// Renew returns nil if the service says that the lock was no longer the client's.
	Renew(key string) (*Lease, error)
}

// Loaded adds to the abilities which version of a module was compiled in.
func Loaded(a Abilities, module string) Abilities {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return a
	}
	for _, m := range info.Deps {
		if m.Path == module {
			a["library"], a["version"] = "go:"+module, m.Version
		}
	}
	return a
}

// request is a line that picklock writes.
type request struct {
	ID      int64             `json:"id"`
	Op      string            `json:"op"`
	Servers []string          `json:"servers"`
	Client  string            `json:"client"`
	TTL     int64             `json:"ttl_ms"`
	Options map[string]string `json:"options"`
	Key     string            `json:"key"`
	Timeout int64             `json:"timeout_ms"`
	Cancel  int64             `json:"cancel_ms"` // of an acquire; 0: its user does not cancel it
}

// fields are those of an answer or an event.
type fields map[string]any

var notHeld = fields{"ok": false, "error": "not held", "definite": true}

// Program answers requests for a lock.
type Program struct {
	lock Lock
	mu   sync.Mutex
	out  *json.Encoder
}

// Serve answers the requests on standard input until it ends or says so.
func Serve(lock func(p *Program) Lock) {
	p := &Program{out: json.NewEncoder(os.Stdout)}
	// Only answers may be on standard output: what a library prints goes to standard error.
	os.Stdout = os.Stderr
	p.lock = lock(p)
	if err := p.serve(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "lock:", err)
		os.Exit(1)
	}
}

func (p *Program) serve(in io.Reader) error {
	for requests := json.NewDecoder(in); ; {
		var q request
		err := requests.Decode(&q)
		if errors.Is(err, io.EOF) || err == nil && q.Op == "close" {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		reply, err := p.answer(q)
		if err != nil {
			reply = fields{"ok": false, "error": err.Error(), "definite": errors.Is(err, ErrNotSent)}
		}
		reply["id"] = q.ID
		if err := p.tell(reply); err != nil {
			return err
		}
	}
}

// Renewed tells that the lock has renewed its lease by itself.
func (p *Program) Renewed(key string, l Lease) error {
	return p.tell(with(fields{"event": "renewed", "key": key}, &l))
}

// Lost tells that the lock has learnt by itself that it no longer holds the key.
func (p *Program) Lost(key string) error { return p.tell(fields{"event": "lost", "key": key}) }

// LostAt calls Lost when a grant is over, unless done closes before: its client has released it.
func (p *Program) LostAt(key string, over, done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-over:
	}
	select {
	case <-done:
	default:
		_ = p.Lost(key) // an error ends the program at its next answer
	}
}

// tell writes one line, whole.
func (p *Program) tell(line fields) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.out.Encode(line); err != nil {
		return fmt.Errorf("write an answer: %w", err)
	}
	return nil
}

func (p *Program) answer(q request) (fields, error) {
	switch q.Op {
	case "open":
		a, err := p.lock.Open(Open{q.Servers, q.Client, milliseconds(q.TTL), q.Options})
		out := fields{"ok": true, "cancels": true} // by its context
		for name, value := range a {
			out[name] = value
		}
		return out, err
	case "acquire":
		return p.acquire(q)
	case "renew":
		r, ok := p.lock.(Renewer)
		if !ok {
			break
		}
		l, err := r.Renew(q.Key)
		if err == nil && l == nil {
			return clone(notHeld), nil
		}
		return with(fields{"ok": true}, l), err
	case "release":
		ok, err := p.lock.Release(q.Key)
		if err == nil && !ok {
			return clone(notHeld), nil
		}
		return fields{"ok": true}, err
	}
	return fields{"ok": false, "error": "unknown request " + q.Op, "definite": true}, nil
}

func (p *Program) acquire(q request) (fields, error) {
	within := time.Minute
	if q.Timeout > 0 {
		within = milliseconds(q.Timeout)
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if q.Cancel > 0 {
		defer time.AfterFunc(milliseconds(q.Cancel), cancel).Stop()
	}
	g, err := p.lock.Acquire(ctx, q.Key)
	if err != nil {
		return nil, err
	}
	if g == nil && errors.Is(ctx.Err(), context.Canceled) {
		return fields{"ok": false, "error": "cancelled", "definite": true}, nil
	}
	if g == nil {
		return fields{"ok": false, "error": "timeout", "definite": true}, nil
	}
	out := with(fields{"ok": true}, g.Lease)
	if g.Token != 0 {
		out["token"] = g.Token
	}
	if g.Expired {
		out["expired"] = true
	}
	return out, nil
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// with adds a lease.
func with(f fields, l *Lease) fields {
	if l != nil {
		f["lease_ms"] = l.For.Milliseconds()
		if l.Since != 0 {
			f["since_ns"] = l.Since
		}
	}
	return f
}

func clone(f fields) fields {
	out := fields{}
	for name, value := range f {
		out[name] = value
	}
	return out
}
