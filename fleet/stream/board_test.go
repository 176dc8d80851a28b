package stream

import (
	"slices"
	"testing"
	"time"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/hunt"
)

func TestGainsAreShared(t *testing.T) {
	c := campaign(t, queue(t))
	open := func(job int, worker string) *Gains {
		g, err := c.Gains(t.Context(), job, worker)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Close)
		return g
	}
	a, b, other := open(0, "a"), open(0, "b"), open(1, "c")
	a.Publish(hunt.Gain{Schedule: "s", States: []uint64{7}})
	late := open(0, "late")
	for name, g := range map[string]*Gains{"b": b, "late": late} {
		got := await(t, g)
		if len(got) != 1 || got[0].Schedule != "s" || got[0].States[0] != 7 {
			t.Errorf("%s took %+v", name, got)
		}
	}
	if got := append(a.Take(), other.Take()...); len(got) > 0 {
		t.Errorf("its own, or another job's: %+v", got)
	}
}

func await(t *testing.T, g *Gains) []hunt.Gain {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if got := g.Take(); len(got) > 0 {
			return got
		}
	}
	return nil
}

func TestBoard(t *testing.T) {
	q := queue(t)
	if all, err := q.Workers(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("a new queue has workers %v, %v", all, err)
	}
	c := campaign(t, q)
	for _, name := range []string{"b", "a", "b"} {
		if err := q.Heartbeat(t.Context(), fleet.Worker{Name: name, Runs: 3}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := q.Workers(t.Context())
	if err != nil || len(all) != 2 || all[0].Name != "a" || all[1].Runs != 3 {
		t.Errorf("%+v, %v", all, err)
	}
	for range 2 {
		if err := c.AddCounterexample(t.Context(), 1, hunt.Signature{Anomaly: "granted-early", Kinds: []string{"pause of a client"}}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := c.Counterexamples(t.Context(), 1)
	if err != nil || len(found) != 1 || found[0].Anomaly != "granted-early" {
		t.Errorf("%+v, %v", found, err)
	}
	followed(t, c)
	if found, err := c.Counterexamples(t.Context(), 0); err != nil || len(found) != 1 {
		t.Errorf("the other job has %+v, %v", found, err)
	}
}

// followed checks that a worker of job 1 knows the counterexample that the queue has, its own, and
// later those of other workers.
func followed(t *testing.T, c *Campaign) {
	t.Helper()
	f, err := c.FollowCounterexamples(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names := func() (out []string) {
		known, err := f.Known()
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range known {
			out = append(out, w.Anomaly)
		}
		slices.Sort(out)
		return out
	}
	if got := names(); !slices.Equal(got, []string{"granted-early"}) {
		t.Errorf("what was there: %q", got)
	}
	f.Add(hunt.Signature{Anomaly: "own"})
	if got := names(); len(got) != 2 {
		t.Errorf("with the own one: %q", got)
	}
	for job, name := range map[int]string{1: "later", 0: "other"} {
		if err := c.AddCounterexample(t.Context(), job, hunt.Signature{Anomaly: name}); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(30 * time.Second); len(names()) < 3 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	if got := names(); !slices.Equal(got, []string{"granted-early", "later", "own"}) {
		t.Errorf("with what came later: %q", got)
	}
}
