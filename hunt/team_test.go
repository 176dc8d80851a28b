package hunt

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/scenarios"
)

// counted is a runner that knows how many of its kind run at once.
type counted struct {
	Runner
	mu        *sync.Mutex
	now, most *int
}

func (c counted) Run(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
	c.mu.Lock()
	*c.now++
	*c.most = max(*c.most, *c.now)
	c.mu.Unlock()
	time.Sleep(2 * time.Millisecond) // as a run does: the others get their turn
	defer func() {
		c.mu.Lock()
		*c.now--
		c.mu.Unlock()
	}()
	return c.Runner.Run(ctx, s)
}

// While one counterexample is made smaller, all runners help, and it becomes what it becomes with one.
func TestAllRunnersShrink(t *testing.T) {
	needs := both(struck("pause", "A"), func(s *scenarios.Scenario) bool { return len(s.Clients) >= 2 })
	small := func(runners int) (string, []string, int) {
		m := &model{bugs: []bug{{"granted-early", "", needs}}}
		var mu sync.Mutex
		now, most := 0, 0
		all := make([]Runner, runners)
		for i := range all {
			all[i] = counted{m, &mu, &now, &most}
		}
		h := New(Options{Target: target(1, 1, "pause:client"), Depth: 1})
		defer h.stop()
		s := h.o.Target.schedule(workloads(h.o.Target)[0], h.mutator.faults["overlap"][0])
		if !needs(s) {
			t.Fatalf("not what was sought:\n%s", text(s))
		}
		w := &Counterexample{Signature: Signature{Anomaly: "granted-early"}, Schedule: string(s.Write()), Search: Rate{Hits: 4, Runs: 4}}
		h.counterexamples = []*Counterexample{w}
		h.Shrink(t.Context(), all, FinishOptions{})
		if w.Larger != "" {
			t.Errorf("with %d runners: %s", runners, w.Larger)
		}
		slices.Sort(w.Needed)
		return w.Schedule, w.Needed, most
	}
	one, needed, most := small(1)
	if most != 1 {
		t.Errorf("%d at once with one runner", most)
	}
	many, same, most := small(12)
	if most < 8 || most > 12 {
		t.Errorf("%d at once with 12 runners", most)
	}
	if many != one || !slices.Equal(needed, same) {
		t.Errorf("with one runner\n%s\n%q\nwith many\n%s\n%q", one, needed, many, same)
	}
}

// shy is a runner that shows nothing while another run is on.
type shy struct{ counted }

func (c shy) Run(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
	out, err := c.counted.Run(ctx, s)
	c.mu.Lock()
	defer c.mu.Unlock()
	if *c.most > 1 && err == nil {
		out.Verdict = verdict.Verdict{Valid: verdict.True, Properties: map[string]verdict.Property{}}
	}
	if *c.now == 0 {
		*c.most = 0
	}
	return out, err
}

// What hardly comes while others run beside it is made smaller with nothing beside it.
func TestShrinkAlone(t *testing.T) {
	m := &model{bugs: []bug{{"granted-early", "", struck("pause", "A")}}}
	var mu sync.Mutex
	now, most := 0, 0
	all := make([]Runner, 12)
	for i := range all {
		all[i] = shy{counted{m, &mu, &now, &most}}
	}
	h := New(Options{Target: target(1, 1, "pause:client"), Depth: 1})
	defer h.stop()
	s := h.o.Target.schedule(workloads(h.o.Target)[0], h.mutator.faults["overlap"][0])
	w := &Counterexample{Signature: Signature{Anomaly: "granted-early"}, Schedule: string(s.Write()), Search: Rate{Hits: 4, Runs: 4}, Steps: stepsOf(s)}
	h.counterexamples = []*Counterexample{w}
	h.Shrink(t.Context(), all, FinishOptions{})
	if w.Larger != "" || w.Steps >= stepsOf(s) || w.Faults != 1 || w.hitRate != 0 {
		t.Errorf("%d steps of %d: %q\n%s", w.Steps, stepsOf(s), w.Larger, w.Schedule)
	}
}
