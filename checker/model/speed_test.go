package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
)

// contended is the history of a lock that n clients want all the time; which of
// them is served next is chance.
func contended(operations, n, unknown int, broken bool) *History {
	p := &pairing{h: &History{File: "h"}}
	r := rand.New(rand.NewPCG(1, 1))
	invoke := func(owner, f string) *Op {
		o := &Op{Process: owner, Owner: owner, F: f}
		if err := p.invoke(o, At{}); err != nil {
			panic(err) // the test's own fault
		}
		return o
	}
	waiting := make([]*Op, n)
	name := func(c int) string { return fmt.Sprint("c", c) }
	for c := range waiting {
		waiting[c] = invoke(name(c), "acquire")
	}
	done := func(o *Op, typ Outcome) {
		delete(p.open, o.Process)
		p.done(o, typ, At{})
	}
	for len(p.h.Ops) < operations {
		c := r.IntN(n)
		if waiting[c] == nil {
			continue
		}
		done(waiting[c], OK)
		if broken && len(p.h.Ops) > operations*199/200 {
			broken, waiting[c] = false, nil
			continue // never released
		}
		o := invoke(name(c), "release")
		if unknown > 0 && len(p.h.Ops)%(operations/200) == 0 {
			unknown--
			done(o, Info)
		} else {
			done(o, OK)
		}
		waiting[c] = invoke(name(c), "acquire")
	}
	return p.finish()
}

// TestFasterThanSearching: what make bench measures on 100,000 operations, in small.
func TestFasterThanSearching(t *testing.T) {
	if testing.Short() {
		t.Skip("Porcupine's share takes a second")
	}
	m, err := Named("owner-mutex")
	if err != nil {
		t.Fatal(err)
	}
	h := contended(8000, 50, 0, false)
	start := time.Now()
	if evidence, decided := m.exact(m, h.Ops); !decided || evidence != nil {
		t.Fatalf("decided %v, evidence %v", decided, evidence)
	}
	ours := time.Since(start)
	start = time.Now()
	if legal, decided := search(context.Background(), m, h.Ops, time.Minute); !decided || !legal {
		t.Fatalf("Porcupine: legal %v, decided %v", legal, decided)
	}
	theirs := time.Since(start)
	t.Logf("8,000 operations: %v, Porcupine %v", ours, theirs)
	if theirs < 5*ours {
		t.Errorf("8,000 operations took %v, and Porcupine %v", ours, theirs)
	}
}

// TestExactAtAnyLength: neither a late violation nor operations of unknown outcome
// make a long history a matter of searching.
func TestExactAtAnyLength(t *testing.T) {
	for name, h := range map[string]*History{"unknown": contended(100_000, 50, 200, false), "broken": contended(100_000, 50, 0, true)} {
		m, err := Named("owner-mutex")
		if err != nil {
			t.Fatal(err)
		}
		ops := useful(m, h.Ops)
		evidence, decided := m.exact(m, ops)
		if !decided || (len(evidence) > 0) != (name == "broken") {
			t.Errorf("%s: decided %v, evidence of %d", name, decided, len(evidence))
		}
		if v, err := Check(context.Background(), h, m, Options{}); err != nil || (v.Valid == checker.False) != (name == "broken") || v.Valid == checker.Unknown {
			t.Errorf("%s: %v %v %s", name, v.Valid, err, v.Why)
		}
	}
}
