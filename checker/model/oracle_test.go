package model

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawHistory draws a small history of a model: half of the time answers are
// those of a run that really happened, with one of them changed now and then; the
// other half they are arbitrary.
func drawHistory(t *rapid.T, m *Model) []*Op {
	n := rapid.IntRange(1, 7).Draw(t, "operations")
	type open struct {
		o   *Op
		eff bool
	}
	busy := map[string]*open{}
	var ops []*Op
	at, value, fence := 0, 0, int64(0)
	state := m.init
	honest := rapid.Bool().Draw(t, "honest")
	values := []string{"nil", "1", "2", "3", "4", "5", "6", "7"}
	unique := rapid.Bool().Draw(t, "unique")
	shared := rapid.IntRange(0, 3).Draw(t, "shared") == 0 // two processes act for one owner
	draw := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, what) }
	arg := func() string {
		if unique {
			value++
			return fmt.Sprint(value)
		}
		return draw("value", values[1:3]...)
	}
	invoke := func(p string) {
		o := &Op{Process: p, Owner: p, F: draw("f", m.Fs...), Call: at, Return: never, CallAt: At{int64(at), at + 1}}
		if shared && p == "c" {
			o.Owner = "b"
		}
		switch o.F {
		case "write", "put", "append", "add":
			o.Arg = arg()
			o.Under = o.Arg
			if m.Name == "fenced-register" {
				o.Fence = rapid.Int64Range(0, 3).Draw(t, "fence")
			}
		case "cas":
			o.Arg, o.Arg2 = draw("expected", values[:4]...), arg()
		case "read":
			if m.Name == "fenced-register" {
				o.Fence = rapid.Int64Range(0, 3).Draw(t, "fence")
			}
		}
		ops = append(ops, o)
		busy[p] = &open{o: o}
	}
	happen := func(b *open) bool {
		o := b.o
		if b.eff || !honest {
			return true
		}
		switch {
		case o.F == "acquire" && strings.Contains(m.Name, "fenced"):
			if rapid.IntRange(0, 3).Draw(t, "known") > 0 {
				fence++
				o.Fence = fence
				if s := state.(hold); s.owns(o) && s.fence != 0 {
					fence--
					o.Fence = s.fence
				}
			}
		case o.F == "read" && m.Name == "set":
			if s := state.(string); s != "" {
				o.Elems = strings.Split(s, "\x00")
			}
		case o.F == "read" && m.Name == "fenced-register":
			o.Out, o.Under = state.(fenced).value, state.(fenced).value
		case o.F == "read" || o.F == "get":
			o.Out = state.(string)
		}
		ok, next := m.step(state, o)
		if !ok {
			return false
		}
		state, b.eff = next, true
		return true
	}
	answer := func(b *open) {
		o := b.o
		kind := rapid.IntRange(0, 9).Draw(t, "answer")
		delete(busy, o.Process)
		switch {
		case kind == 0: // never answered: nobody learnt the fence
			if o.F == "acquire" {
				o.Fence = 0
			}
			return
		case kind < 3 || !honest:
			switch {
			case o.F == "read" && m.Name == "set":
				o.Elems = nil
				for v := range 4 {
					if rapid.Bool().Draw(t, "holds") {
						o.Elems = append(o.Elems, fmt.Sprint(v+1))
					}
				}
			case o.F == "read" || o.F == "get":
				o.Out = draw("out", values[:4]...)
				o.Under = o.Out
			case o.F == "acquire":
				o.Fence = rapid.Int64Range(0, 4).Draw(t, "fence")
			case o.F == "cas" && kind == 2:
				o.Type, o.Return, o.ReturnAt = Mismatch, at, At{int64(at), at + 1}
				return
			}
		case !happen(b):
			// It certainly did not take effect.
			ops = slices.DeleteFunc(ops, func(p *Op) bool { return p == o })
			return
		}
		o.Type, o.Return, o.ReturnAt = OK, at, At{int64(at), at + 1}
	}
	for len(ops) < n || len(busy) > 0 {
		at++
		p := draw("process", "a", "b", "c")
		switch b := busy[p]; {
		case b == nil && len(ops) < n:
			if at > 60 {
				return ops
			}
			invoke(p)
		case b == nil:
			for _, name := range []string{"a", "b", "c"} {
				if busy[name] != nil {
					answer(busy[name])
					break
				}
			}
		case rapid.Bool().Draw(t, "happens"):
			happen(b)
		default:
			answer(b)
		}
	}
	return ops
}

// possible tries all orders, and for everything of unknown outcome both ways.
func possible(m *Model, ops []*Op) bool {
	used := make([]bool, len(ops))
	var try func(state any) bool
	try = func(state any) bool {
		done := true
		for i, o := range ops {
			done = done && (used[i] || o.Type == Info)
			if used[i] || slices.ContainsFunc(ops, func(p *Op) bool { return !used[slices.Index(ops, p)] && p.Return < o.Call }) {
				continue
			}
			ok, next := m.step(state, o)
			if !ok {
				continue
			}
			used[i] = true
			good := try(next)
			used[i] = false
			if good {
				return true
			}
		}
		return done
	}
	return try(m.init)
}

// TestOracle: every algorithm gives the verdict of trying everything, in both
// directions. make bench runs it on 100,000
// histories of each model.
func TestOracle(t *testing.T) {
	for _, name := range append(Names(), "semaphore:1", "semaphore:2") {
		if name == "semaphore:N" {
			continue
		}
		m, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			good, bad, exact := 0, 0, [2]int{}
			rounds := 10
			if testing.Short() {
				rounds = 1
			}
			check := func(t *rapid.T) {
				ops := drawHistory(t, m)
				want := possible(m, ops)
				if want {
					good++
				} else {
					bad++
				}
				if m.exact != nil {
					if evidence, decided := m.exact(m, useful(m, ops)); decided {
						if got := len(evidence) == 0; got != want {
							t.Fatalf("exact: %v, by trying everything %v\n%s", got, want, list(ops))
						}
						if want {
							exact[0]++
						} else {
							exact[1]++
						}
					}
				}
				broken, decided := sweep(context.Background(), m, useful(m, ops), 1<<20)
				if got := broken == nil; !decided || got != want {
					t.Fatalf("going over configurations: %v (decided %v), by trying everything %v\n%s", got, decided, want, list(ops))
				}
				if broken != nil {
					evidence := shrink(context.Background(), m, useful(m, ops), broken)
					if possible(m, evidence) {
						t.Fatalf("the evidence shows nothing:\n%s\nof\n%s", list(evidence), list(ops))
					}
				}
				if got, decided := search(context.Background(), m, ops, time.Minute); !decided || got != want {
					t.Fatalf("Porcupine: %v (decided %v), by trying everything %v\n%s", got, decided, want, list(ops))
				}
			}
			for range rounds {
				rapid.Check(t, check)
			}
			t.Logf("%d possible, %d not; exactly decided %d and %d", good, bad, exact[0], exact[1])
			if testing.Short() {
				return
			}
			if min(good, bad) == 0 || (m.exact != nil && min(exact[0], exact[1]) == 0) {
				t.Errorf("the test sees one side only: %d possible, %d not; exactly decided %v", good, bad, exact)
			}
		})
	}
}

func list(ops []*Op) string {
	s := ""
	for _, o := range ops {
		s += fmt.Sprintf("[%d, %d] %s type %d elems %v\n", o.Call, o.Return, o, o.Type, o.Elems)
	}
	return s
}
