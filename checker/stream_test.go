package checker

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

// write puts an input into files, the events in the given order.
func write(t interface{ Fatal(...any) }, dir string, in Input, order []int) (events, effects string) {
	events, effects = filepath.Join(dir, "history.jsonl"), filepath.Join(dir, "register.jsonl")
	var b strings.Builder
	enc := json.NewEncoder(&b)
	for _, i := range order {
		if err := enc.Encode(in.Events[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(events, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	for _, e := range in.Effects {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(effects, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return events, effects
}

// TestFilesLikeMemory: from files, in order or shuffled, comes the same verdict as
// from memory.
func TestFilesLikeMemory(t *testing.T) {
	dir := t.TempDir()
	compare := func(t interface {
		Fatal(...any)
		Fatalf(string, ...any)
	}, in Input, shuffled bool) {
		order := make([]int, len(in.Events))
		for i := range order {
			order[i] = i
		}
		if shuffled {
			r := rand.New(rand.NewPCG(1, uint64(len(order))))
			r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		events, effects := write(t, dir, in, order)
		got, err := CheckFiles(context.Background(), events, effects, in.Options, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(Check(in))
		if string(a) != string(b) {
			t.Fatalf("from files %s\nfrom memory %s", a, b)
		}
	}
	compare(t, validHistory(500, 3, 2), false)
	compare(t, validHistory(500, 3, 2), true)
	if testing.Short() {
		return // most of what follows is the writing of files
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := simulate(rt, rapid.Bool().Draw(rt, "sound"), rapid.Bool().Draw(rt, "tokens"), false, rapid.Bool().Draw(rt, "leases"))
		compare(rt, givenUp(w.in), rapid.Bool().Draw(rt, "shuffled"))
	})
}

// TestTimeout: what is not decided in time is unknown, and only that.
func TestTimeout(t *testing.T) {
	in := validHistory(1000, 3, 1)
	over, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	v := CheckContext(over, in)
	if v.Valid != Unknown {
		t.Errorf("valid %v without any time", v.Valid)
	}
	for name, p := range v.Properties {
		if p.Valid != Unknown || !strings.Contains(p.Why, "time given") {
			t.Errorf("%s: %v (%s) without any time", name, p.Valid, p.Why)
		}
	}
	dir := t.TempDir()
	order := make([]int, len(in.Events))
	for i := range order {
		order[i] = i
	}
	events, effects := write(t, dir, in, order)
	if _, err := CheckFiles(over, events, effects, Options{}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("reading with no time left: %v", err)
	}
}

// TestDuplicateLine: a line that stands twice is no second grant.
func TestDuplicateLine(t *testing.T) {
	in := validHistory(50, 2, 1)
	events, _ := write(t, t.TempDir(), in, []int{0, 1, 2, 2, 3})
	if _, err := CheckFiles(context.Background(), events, "", Options{}, nil); err == nil || !strings.Contains(err.Error(), "history.jsonl:4: ") || !strings.Contains(err.Error(), "written twice") {
		t.Errorf("a line that stands twice: %v", err)
	}
}

// TestStatsWaits: the distribution of the waiting times is of the granted acquires.
func TestStatsWaits(t *testing.T) {
	in := script(t, "0-1 c1 acquire c1.1\n2-3 c1 release c1.1\n3-5 c2 acquire c2.1\n6-9 c3 acquire !timeout\n")
	if got, want := Check(in).Stats.Waits, (&Waits{P50: 1e9, P95: 1e9, P99: 1e9, Max: 2e9}); !reflect.DeepEqual(got, want) {
		t.Errorf("waits %+v, want %+v", got, want)
	}
	if got := Check(Input{Events: []history.Event{}}).Stats.Waits; got != nil {
		t.Errorf("waits %+v of nothing", got)
	}
}
