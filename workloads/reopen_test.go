package workloads

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
)

// A client that opens its lock anew has a new program behind it, or one that begins anew if that can do it, and goes on to
// count its grants.
func TestReopen(t *testing.T) {
	for name, x := range map[string]struct {
		source string
		token  int64 // of the grant after it: the program counts the lines that it reads
	}{
		"a new program":                {grantsAll, 2},
		"one that can be opened again": {strings.Replace(grantsAll, `"ok": True,`, `"ok": True, "reopens": r["op"] == "open",`, 1), 5},
	} {
		t.Run(name, func(t *testing.T) {
			w := startScripted(t, x.source)
			acquired := func() *history.Event {
				if o := w.do(history.Acquire); o != Granted {
					t.Fatalf("acquire: %s", o)
				}
				for i := len(w.seen) - 1; ; i-- {
					if e := w.seen[i].Event; e != nil && e.F == history.Acquire && e.Type == history.OK {
						return e
					}
				}
			}
			if first, second := acquired(), acquired(); first.Token != 2 || second.Token != 3 {
				t.Fatalf("the program gave tokens %d and %d", first.Token, second.Token)
			}
			if o := w.do(CommandReopen); o != Did {
				t.Fatalf("reopen: %s", o)
			}
			if third := acquired(); third.Token != x.token || third.Grant != "A.3" {
				t.Errorf("grant %s with token %d, want A.3 with %d", third.Grant, third.Token, x.token)
			}
		})
	}
}

// stuck is a lock that closes when it is let go.
type stuck struct {
	clients.Lock
	let chan struct{}
}

func (s stuck) Close() error { <-s.let; return nil }

type nothing struct{ register.Resource }

func (nothing) Close() error { return nil }

// A lock that does not close is neither waited for nor heard any more; a third one is too many.
func TestReopenStuck(t *testing.T) {
	let := make(chan struct{})
	fresh := func() *opened { return &opened{lock: stuck{let: let}, register: nothing{}} }
	c := &client{opened: fresh()}
	c.open = func(context.Context, clients.Lock) (*client, error) { return &client{opened: fresh()}, nil }
	before := c.opened
	for range mostClosing {
		if err := c.reopen(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !before.over.Load() || c.over.Load() {
		t.Error("the old lock is heard, or the new one is not")
	}
	if err := c.reopen(t.Context()); !errors.Is(err, errClosing) {
		t.Errorf("one more: %v", err)
	}
	close(let)
	c.ending.Wait()
	c.open = func(context.Context, clients.Lock) (*client, error) {
		return &client{opened: fresh(), info: clients.Info{Fencing: true}}, nil
	}
	now := c.opened
	if err := c.reopen(t.Context()); err == nil || c.opened != now {
		t.Errorf("a lock that declares something else: %v", err)
	}
}
