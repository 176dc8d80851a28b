package hunt

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/picklock/picklock/scenarios"
)

// confirming is a model in which the runs that confirm one schedule wait until another one has been run.
type confirming struct {
	*model
	first, other string
	ran          chan struct{} // closed when the other one has been run
	once         *sync.Once
	mu           *sync.Mutex
	runs         *int // of the first
}

func (c confirming) Run(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
	switch key(s) {
	case c.first:
		c.mu.Lock()
		*c.runs++
		again := *c.runs > 1
		c.mu.Unlock()
		if again {
			select {
			case <-c.ran:
			case <-ctx.Done():
			}
		}
	case c.other:
		defer c.once.Do(func() { close(c.ran) })
	}
	return c.model.Run(ctx, s)
}

// TestPassedOver: what shows a violation always is not passed over for what shows it once, because that is being confirmed when it
// comes. It counts as run once.
func TestPassedOver(t *testing.T) {
	on := target(1, 1, "pause")
	var keys []string
	for p := range space(on, 0) {
		keys = append(keys, key(p.schedule))
	}
	shown := 0
	c := confirming{first: keys[0], other: keys[1], ran: make(chan struct{}), once: &sync.Once{}, mu: &sync.Mutex{}, runs: new(int)}
	c.model = &model{bugs: []bug{{"deadlock", "", func(s *scenarios.Scenario) bool {
		if key(s) == c.first {
			shown++
			return shown == 1
		}
		return key(s) == c.other
	}}}}
	h := New(Options{Target: on, Depth: 0, Strategy: Exhaustive, Time: time.Minute})
	r, err := h.Run(t.Context(), []Runner{c, c})
	if err != nil {
		t.Fatal(err)
	}
	addsUp(t, r)
	if len(r.Counterexamples) != 1 {
		t.Fatalf("%d counterexamples, want 1", len(r.Counterexamples))
	}
	w := r.Counterexamples[0]
	s, err := scenarios.Parse("schedule.yaml", []byte(w.Schedule))
	if err != nil || key(s) != c.other || w.Search.Hits != w.Search.Runs {
		t.Errorf("%d of %d runs, %v, of\n%s", w.Search.Hits, w.Search.Runs, err, w.Schedule)
	}
	if got, want := r.Depths[0].Ran, points(on, 0); got != want {
		t.Errorf("%d schedules were run, want %d", got, want)
	}
}
