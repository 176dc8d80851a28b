package hunt

import (
	"context"
	"testing"
	"time"

	"github.com/picklock/picklock/scenarios"
)

// waiting is a runner whose turn comes once others are done; yielded counts what it gave back.
type waiting struct {
	Runner
	turn    chan struct{}
	yielded int
}

func (w *waiting) Wait(ctx context.Context) bool {
	select {
	case <-w.turn:
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *waiting) Yield() { w.yielded++ }

func (w *waiting) Run(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
	if !w.Wait(ctx) {
		return nil, ctx.Err()
	}
	return w.Runner.Run(ctx, s)
}

// soloist counts which schedules it ran alone.
type soloist struct {
	Runner
	alone map[string]int
}

func (s *soloist) RunAlone(ctx context.Context, sc *scenarios.Scenario) (*Outcome, error) {
	s.alone[key(sc)]++
	return s.Run(ctx, sc)
}

// TestLastTryAlone: the last try of a program without a fault is run with nothing beside it, and of no other schedule.
func TestLastTryAlone(t *testing.T) {
	on := target(1, 1, "pause")
	for _, c := range []struct{ busy, alone int }{{1, 0}, {2, len(workloads(on))}, {1000, len(workloads(on))}} {
		s := &soloist{&model{busy: map[string]int{"": c.busy}}, map[string]int{}}
		r, err := New(Options{Target: on, Depth: 1, Strategy: Exhaustive, Time: 10 * time.Second}).Run(t.Context(), []Runner{s})
		if err != nil {
			t.Fatal(err)
		}
		addsUp(t, r)
		if len(s.alone) != c.alone {
			t.Errorf("busy %d times: %d schedules ran alone, want %d", c.busy, len(s.alone), c.alone)
		}
	}
}

// TestWaiterTakesNothing: a runner that waits for its turn keeps no schedule from being run.
func TestWaiterTakesNothing(t *testing.T) {
	on := target(1, 1, "pause")
	there := points(on, 1)
	m := &model{}
	late := &waiting{Runner: m, turn: make(chan struct{})}
	works := runnerFunc(func(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
		out, err := m.Run(ctx, s)
		if len(m.played) == there {
			close(late.turn)
		}
		return out, err
	})
	r, err := New(Options{Target: on, Depth: 1, Strategy: Exhaustive, Time: 10 * time.Second}).Run(t.Context(), []Runner{late, works})
	if err != nil {
		t.Fatal(err)
	}
	addsUp(t, r)
	if !r.Depths[0].All() || !r.Depths[1].All() || late.yielded != 1 {
		t.Errorf("%+v, %d turns given back", r.Depths, late.yielded)
	}
}

// choosy is a runner on which only some schedules begin at once.
type choosy struct {
	Runner
	ready func(*scenarios.Scenario) bool
}

func (c *choosy) Ready(s *scenarios.Scenario) bool { return c.ready(s) }

// TestOthersGoFirst: what would have to wait is put off, but not for longer than it would have to, and is run in the end.
func TestOthersGoFirst(t *testing.T) {
	on := target(1, 1, "pause")
	there := points(on, 1)
	ofServer := func(s *scenarios.Scenario) bool {
		return len(s.TriggeredFaults) > 0 && s.TriggeredFaults[0].Fault.Text == "pause: redis"
	}
	for _, strategy := range []string{Exhaustive, Guided} {
		var order []bool // true: of the server
		free := func() bool { return len(order) == 30 || len(order) == there/2 }
		m := &model{}
		run := runnerFunc(func(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
			order = append(order, ofServer(s))
			return m.Run(ctx, s)
		})
		c := &choosy{run, func(s *scenarios.Scenario) bool { return !ofServer(s) || free() }}
		r, err := New(Options{Target: on, Depth: 1, Strategy: strategy, Time: 2 * time.Second}).Run(t.Context(), []Runner{c})
		if err != nil {
			t.Fatal(err)
		}
		addsUp(t, r)
		if strategy == Exhaustive && !r.Depths[1].All() {
			t.Errorf("not all ran: %+v", r.Depths)
		}
		if !order[30] || !order[there/2] {
			t.Errorf("%s: none of the server when one could begin", strategy)
		}
		if n := countTrue(order[:there/2]); n != 1 {
			t.Errorf("%s: %d of the server before %d others, want 1", strategy, n, there/2)
		}
	}
}

func countTrue(list []bool) (n int) {
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}

// TestGuidedKeepTheirShare: if nothing begins at once, as with faults of servers alone, guided schedules are run all the same
// before the space is gone.
func TestGuidedKeepTheirShare(t *testing.T) {
	on := target(1, 1, "pause", "kill")
	never := &choosy{&model{}, func(*scenarios.Scenario) bool { return false }}
	h := New(Options{Target: on, Depth: 1, Time: 10 * time.Second})
	guided := 0
	for range points(on, 1) {
		p, _, ok := h.next(never.ready)
		if !ok {
			t.Fatal("nothing is left")
		}
		out, err := never.Run(t.Context(), p.schedule)
		if err != nil {
			t.Fatal(err)
		}
		h.observe(p, p.guided, out)
		if p.guided {
			guided++
		}
	}
	h.stop()
	if part := float64(guided) / float64(points(on, 1)); part < guidedShare/2 || part > 2*guidedShare {
		t.Errorf("%.2f of the runs were guided, want about %.1f", part, guidedShare)
	}
}
