package nemesis

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/picklock/picklock/nemesis/packetfault"
)

// renewing is a network of nodes that get a new namespace on every start, with nothing done to it.
func renewing(t *testing.T) (*Env, *renewingCluster, *fakeInjector) {
	t.Helper()
	c, h := &renewingCluster{fakeCluster: newFakeCluster()}, newFakeInjector()
	env := &Env{Cluster: c, Injector: mortalHands{h, c}, Isolated: true}
	env.net = newNetwork(env)
	return env, c, h
}

// While a node starts, whatever was done at its own end is kept up at the others'.
func TestBarsWhileANodeStarts(t *testing.T) {
	type bars = map[string][2][]string // by namespace: from, to
	ctx := t.Context()
	for _, tt := range []struct {
		name string
		do   func(e *Env) error
		want bars
	}{
		{"nothing", func(*Env) error { return nil }, bars{}},
		{"to it", func(e *Env) error { return e.net.cut(ctx, "a", []directedLink{{"s2", "s1"}, {"s3", "s1"}}) }, bars{"s2": {nil, {"10.0.0.1"}}, "s3": {nil, {"10.0.0.1"}}}},
		{"from it", func(e *Env) error { return e.net.cut(ctx, "a", []directedLink{{"s1", "s2"}}) }, bars{}}, // s2 is there
		{"of others", func(e *Env) error { return e.net.cut(ctx, "a", []directedLink{{"s2", "s3"}, {"s3", "s2"}}) }, bars{}},
		{"healed", func(e *Env) error {
			return errors.Join(e.net.cut(ctx, "a", []directedLink{{"s2", "s1"}}), e.net.uncut(ctx, "a", []directedLink{{"s2", "s1"}}))
		}, bars{}},
		{"what it sends held", func(e *Env) error { return e.net.hold(ctx, "a", []directedLink{{"s1", "s2"}}) }, bars{"s2": {{"10.0.0.1"}, nil}}},
		{"what it is sent held", func(e *Env) error { return e.net.hold(ctx, "a", []directedLink{{"s2", "s1"}}) }, bars{}},
		{"slow", func(e *Env) error {
			return e.net.shape(ctx, "a", []directedLink{{"s1", "c1"}}, packetfault.Shape{Delay: time.Second})
		}, bars{"c1": {{"10.0.0.1"}, nil}}},
		{"several", func(e *Env) error {
			return errors.Join(e.net.cut(ctx, "a", []directedLink{{"s2", "s1"}}), e.net.hold(ctx, "a", []directedLink{{"s1", "s2"}}), e.net.cut(ctx, "a", []directedLink{{"s2", "s1"}}))
		}, bars{"s2": {{"10.0.0.1"}, {"10.0.0.1"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env, c, h := renewing(t)
			if err := tt.do(env); err != nil {
				t.Fatal(err)
			}
			c.set("s1", 0, "")
			if err := env.starts.around(ctx, "s1", func() error {
				if !reflect.DeepEqual(h.barred, tt.want) {
					t.Errorf("while it starts %v is barred, want %v", h.barred, tt.want)
				}
				c.set("s1", 500, "s1 again")
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			for at, b := range h.barred {
				if len(b[0])+len(b[1]) > 0 {
					t.Errorf("started, and %s still bars %v", at, b)
				}
			}
		})
	}
}

// A start that fails leaves nothing barred, and no start waiting for it.
func TestBarsOfAFailedStart(t *testing.T) {
	env, c, h := renewing(t)
	ctx := t.Context()
	if err := env.net.cut(ctx, "a", []directedLink{{"s2", "s1"}}); err != nil {
		t.Fatal(err)
	}
	c.set("s1", 0, "")
	bad := errors.New("no such image")
	if err := env.starts.around(ctx, "s1", func() error { return bad }); !errors.Is(err, bad) {
		t.Errorf("error %v", err)
	}
	if b := h.barred["s2"]; len(b[0])+len(b[1]) > 0 {
		t.Errorf("s2 still bars %v", b)
	}
	if err := env.net.uncut(ctx, "a", []directedLink{{"s2", "s1"}}); err != nil {
		t.Error(err)
	}
}

// Of two nodes that are cut off from each other neither can bar the way for the other when
// both are down: the second starts when the first is cut off. Nodes that nothing was done
// between do not wait, and a change of the network waits for those that it concerns.
func TestStartsInOrder(t *testing.T) {
	env, c, h := renewing(t)
	ctx := t.Context()
	if err := env.net.cut(ctx, "a", []directedLink{{"s2", "s1"}}); err != nil {
		t.Fatal(err)
	}
	c.set("s1", 0, "")
	c.set("s2", 0, "")
	c.set("s3", 0, "")
	begun, end, ended := make(chan string, 3), map[string]chan struct{}{}, make(chan error, 4)
	for _, n := range []string{"s1", "s2", "s3"} {
		end[n] = make(chan struct{})
	}
	start := func(n string) {
		ended <- env.starts.around(ctx, n, func() error {
			begun <- n
			<-end[n]
			c.set(n, 500, n+" again")
			return nil
		})
	}
	go start("s1")
	if n := <-begun; n != "s1" {
		t.Fatal(n)
	}
	go start("s2")
	go start("s3")
	if n := <-begun; n != "s3" {
		t.Fatalf("%s is started while s1 is not cut off", n)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := env.net.cut(short, "a", []directedLink{{"c1", "s1"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a cut of a node that has no network yet: %v", err)
	}
	if err := env.net.cut(ctx, "a", []directedLink{{"c1", "c2"}}); err != nil {
		t.Errorf("a cut between others: %v", err)
	}
	go func() { ended <- env.net.cut(ctx, "b", []directedLink{{"c1", "s1"}}) }()
	close(end["s1"])
	if n := <-begun; n != "s2" {
		t.Fatal(n)
	}
	close(end["s2"])
	close(end["s3"])
	for range 4 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if got := h.drops["s1 again"]; !reflect.DeepEqual(got, []string{"10.0.0.2", "10.0.0.4"}) {
		t.Errorf("s1 drops what comes from %v", got)
	}
}
