package register

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
)

// oracle is a lock service whose answers the test sends.
type oracle struct {
	asked  chan question
	closed chan struct{}
}

type question struct {
	token  int64
	answer chan<- error // nil: in force; errOver: not
}

var errOver = errors.New("over")

func newOracle() *oracle {
	return &oracle{asked: make(chan question), closed: make(chan struct{}, 100)}
}

func (o *oracle) open(context.Context) (Sequencer, error) { return o, nil }

func (o *oracle) Valid(ctx context.Context, _ string, token int64) (bool, error) {
	answer := make(chan error, 1)
	select {
	case o.asked <- question{token, answer}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	select {
	case err := <-answer:
		if errors.Is(err, errOver) {
			return false, nil
		}
		return err == nil, err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (o *oracle) Close() error {
	o.closed <- struct{}{}
	return nil
}

// next waits for the next question; the test fails if none comes.
func (o *oracle) next(t *testing.T) question {
	t.Helper()
	select {
	case q := <-o.asked:
		return q
	case <-time.After(20 * time.Second):
		t.Fatal("the lock service was not asked")
		return question{}
	}
}

func serveAsking(t *testing.T, name string, open func(context.Context) (Sequencer, error)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	store := NewStore(mode(t, name), history.Now())
	go func() { done <- ServeAsking(ctx, ln, store, io.Discard, open) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return ln.Addr().String()
}

// send writes in the background and returns a channel for its error.
func send(t *testing.T, addr string, token int64, value string) <-chan error {
	t.Helper()
	c := New(addr)
	t.Cleanup(func() { c.Close() })
	done := make(chan error, 1)
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	ctx := t.Context()
	group.Go(func() {
		_, err := c.Do(ctx, Request{F: history.Write, Key: "k", Process: "c", Token: token, Value: value})
		done <- err
	})
	return done
}

func TestSequencerDecides(t *testing.T) {
	for _, name := range []string{"sequencer", "sequencer-apart"} {
		t.Run(name, func(t *testing.T) {
			o := newOracle()
			addr := serveAsking(t, name, o.open)
			c := New(addr)
			defer c.Close()
			for i, x := range []struct {
				token int64
				say   error
				want  string // "" for an effect
			}{
				{34, nil, ""},
				{33, nil, ""}, // the service's answer counts, not the order of the tokens
				{34, errOver, "token 34 is no longer in force"},
				{35, errors.New("no leader"), "register " + addr + ": not carried out: cannot ask the lock service: no leader"},
			} {
				done := send(t, addr, x.token, fmt.Sprint("v", i))
				q := o.next(t)
				if q.token != x.token {
					t.Errorf("asked about token %d, want %d", q.token, x.token)
				}
				q.answer <- x.say
				err := <-done
				switch {
				case x.want == "" && err == nil:
				case err == nil || err.Error() != x.want || errors.Is(err, ErrUnknown):
					t.Errorf("write with token %d: %v; want %q", x.token, err, x.want)
				case errors.Is(err, ErrRefused) != errors.Is(x.say, errOver):
					t.Errorf("write with token %d: refused is %v: only the service's negative answer is a refusal", x.token, errors.Is(err, ErrRefused))
				}
			}
			if err := <-send(t, addr, 0, "none"); !errors.Is(err, ErrRefused) || !strings.HasPrefix(err.Error(), "no token") {
				t.Errorf("write without a token: %v; want a refusal without a question", err)
			}
		})
	}
}

// TestSequencerOrder: between a question and its effect no other request changes the
// key, unless the mode is the one that shows the consequence.
func TestSequencerOrder(t *testing.T) {
	t.Run("sequencer", func(t *testing.T) {
		o := newOracle()
		addr := serveAsking(t, "sequencer", o.open)
		a := send(t, addr, 33, "old")
		held := o.next(t)
		b := send(t, addr, 34, "new")
		select {
		case <-o.asked:
			t.Fatal("asked about a second request before the first had its effect")
		case <-time.After(100 * time.Millisecond): // nothing is to happen
		}
		held.answer <- nil
		if err := <-a; err != nil {
			t.Error(err)
		}
		o.next(t).answer <- nil
		if err := <-b; err != nil {
			t.Error(err)
		}
		wantValue(t, o, addr, "new")
	})
	t.Run("sequencer-apart", func(t *testing.T) {
		o := newOracle()
		addr := serveAsking(t, "sequencer-apart", o.open)
		a := send(t, addr, 33, "old")
		held := o.next(t)
		b := send(t, addr, 34, "new")
		o.next(t).answer <- nil
		if err := <-b; err != nil {
			t.Error(err)
		}
		held.answer <- nil
		if err := <-a; err != nil {
			t.Error(err)
		}
		wantValue(t, o, addr, "old")
	})
}

func wantValue(t *testing.T, o *oracle, addr, want string) {
	t.Helper()
	c := New(addr)
	defer c.Close()
	got := make(chan Reply, 1)
	go func() {
		r, err := c.Do(t.Context(), Request{F: history.Read, Key: "k", Process: "c", Token: 35})
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	o.next(t).answer <- nil
	if r := <-got; r.Value != want {
		t.Errorf("the key holds %q, want %q", r.Value, want)
	}
}

// TestSequencerHungUp: a client that gives up ends its question, which then has no effect; others
// do not wait for it.
func TestSequencerHungUp(t *testing.T) {
	o := newOracle()
	addr := serveAsking(t, "sequencer", o.open)
	c := New(addr)
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Do(ctx, Request{F: history.Write, Key: "k", Process: "c", Token: 33, Value: "gone"})
		done <- err
	}()
	o.next(t) // never answered
	cancel()
	if err := <-done; !errors.Is(err, ErrUnknown) {
		t.Errorf("no reply: %v; want ErrUnknown", err)
	}
	select {
	case <-o.closed:
	case <-time.After(20 * time.Second):
		t.Fatal("the question outlasts its client")
	}
	b := send(t, addr, 34, "new")
	o.next(t).answer <- nil
	if err := <-b; err != nil {
		t.Error(err)
	}
	wantValue(t, o, addr, "new")
}

func TestSequencerOutOfReach(t *testing.T) {
	for name, open := range map[string]func(context.Context) (Sequencer, error){
		"none":   nil,
		"broken": func(context.Context) (Sequencer, error) { return nil, errors.New("no route") },
	} {
		t.Run(name, func(t *testing.T) {
			err := <-send(t, serveAsking(t, "sequencer", open), 33, "v")
			if err == nil || errors.Is(err, ErrRefused) || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "cannot ask") {
				t.Errorf("write: %v; want a definite error that is no refusal", err)
			}
		})
	}
}
