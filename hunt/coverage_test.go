package hunt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/scenarios"
)

// runnerFunc is a runner that is a function.
type runnerFunc func(ctx context.Context, s *scenarios.Scenario) (*Outcome, error)

func (f runnerFunc) Run(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
	return f(ctx, s)
}

// Whatever becomes of schedules, each counts once, and everything that was not run as planned has a
// reason.
func TestCoverageAddsUp(t *testing.T) {
	m := &model{
		bugs: []bug{{"granted-early", "", struck("pause", "A")}, {"wrong-release", "", struck("kill", "B")}},
		busy: map[string]int{"": 1},
		discarded: func(s *scenarios.Scenario) (of, why string, cannot bool) {
			for _, st := range s.TriggeredFaults {
				switch {
				case st.Fault.Word == "clock":
					return st.Fault.Text, "no clock here", true
				case strings.Contains(st.When.String(), "renew"):
					return st.Fault.Text, "its trigger never came", false
				}
			}
			return "", "", false
		},
	}
	failing := runnerFunc(func(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
		if struck("kill", "A")(s) && strings.Contains(text(s), "after A's read") {
			return nil, errors.New("no answer")
		}
		return m.Run(ctx, s)
	})
	on := target(1, 1, "pause", "kill", "clock")
	h := New(Options{Target: on, Depth: 2, Strategy: Exhaustive, Time: time.Minute})
	r, err := h.Run(t.Context(), []Runner{failing, failing})
	if err != nil {
		t.Fatal(err)
	}
	addsUp(t, r)
	d := r.Depths[1]
	if d.Space != on.Size(1)-on.Size(0) || d.Ran == 0 || d.Discarded == 0 || d.Infeasible == 0 || d.Broke == 0 {
		t.Errorf("%+v", d)
	}
	if d := r.Depths[2]; d.Space != on.Size(2)-on.Size(1) || d.Implied == 0 || d.NotReached > 0 {
		t.Errorf("%+v", d)
	}
	seen := map[string]bool{}
	for _, u := range r.Uncovered {
		seen[u.What+": "+u.Why] = true
	}
	for _, want := range []string{WasInfeasible + ": clock: A +750ms: no clock here", WasImplied + ": with pause: A alone the lock broke"} {
		if !seen[want] {
			t.Errorf("no reason %q in %v", want, seen)
		}
	}
}

// What symmetry leaves out is no part of the space, and is counted.
func TestSameIsCounted(t *testing.T) {
	_, r := search(t, &model{}, Options{Target: target(1, 1), Depth: 1}, 1)
	if r.Depths[0].Same != 0 || r.Depths[1].Same == 0 {
		t.Errorf("%+v", r.Depths)
	}
}

// Each case breaks the account of a hunt in one place.
func TestCheckCoverage(t *testing.T) {
	good := func() *Result {
		return &Result{Runs: 90, Guided: 2, Depths: []Depth{
			{Faults: 0, Space: 6, Ran: 6, Done: true},
			{Faults: 1, Space: 100, Same: 7, Ran: 70, Discarded: 10, Failed: 1, Infeasible: 4, Implied: 5, NotReached: 10, Broke: 80},
		}, Uncovered: []Uncovered{
			{1, WasDiscarded, "too busy", 7}, {1, WasDiscarded, "never", 3}, {1, WasFailed, "no answer", 1}, {1, WasInfeasible, "no disk", 4}, {1, WasImplied, "pause", 5},
		}}
	}
	if err := good().CheckCoverage(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(r *Result){
		"one more of the space":   func(r *Result) { r.Depths[1].Space++ },
		"one that ran is lost":    func(r *Result) { r.Depths[1].Ran-- },
		"one failed is lost":      func(r *Result) { r.Depths[1].Failed-- },
		"more broke it than ran":  func(r *Result) { r.Depths[1].Broke = 81 },
		"done, and not all is":    func(r *Result) { r.Depths[1].Done = true },
		"a reason is missing":     func(r *Result) { r.Uncovered = r.Uncovered[1:] },
		"a reason of nothing":     func(r *Result) { r.Uncovered = append(r.Uncovered, Uncovered{1, WasFailed, "x", 1}) },
		"negative":                func(r *Result) { r.Depths[0].Ran, r.Depths[0].NotReached = 7, -1 },
		"fewer runs than it says": func(r *Result) { r.Runs = 87 },
	} {
		r := good()
		if spoil(r); r.CheckCoverage() == nil {
			t.Errorf("%s: it adds up", name)
		}
	}
}

// A run that failed is run again; a schedule whose runs all fail is counted as such, and the depth
// is not done.
func TestFailedIsRunAgain(t *testing.T) {
	on := target(1, 1, "pause")
	for failures, done := range map[int]bool{1: true, retriesOfFailed: true, retriesOfFailed + 1: false} {
		m, tries := &model{}, map[string]int{}
		few := runnerFunc(func(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
			if struck("pause", "A")(s) && strings.Contains(text(s), "before A's write") {
				if tries[key(s)]++; tries[key(s)] <= failures {
					return nil, errors.New("no answer\nof a server")
				}
			}
			return m.Run(ctx, s)
		})
		h := New(Options{Target: on, Depth: 1, Strategy: Exhaustive, Time: time.Minute})
		r, err := h.Run(t.Context(), []Runner{few})
		if err != nil {
			t.Fatal(err)
		}
		addsUp(t, r)
		d := r.Depths[1]
		if d.Done != done || (d.Failed == 0) != done || d.Space != d.Ran+d.Failed || len(tries) < 2 || r.Failed != min(failures, 1+retriesOfFailed)*len(tries) || r.FailedWhy != "no answer" {
			t.Errorf("%d failures of each of %d: %d in all, %+v", failures, len(tries), r.Failed, d)
		}
		if !done && (len(r.Uncovered) != 1 || r.Uncovered[0] != (Uncovered{1, WasFailed, "no answer", len(tries)})) {
			t.Errorf("%+v", r.Uncovered)
		}
	}
}

// A lock that cannot be run at all ends the search with an error. If runs fail one after the other later, what was found
// until then is told, and nothing passes.
func TestRunAfterRunFails(t *testing.T) {
	on := target(1, 1, "pause")
	for _, sound := range []int{0, 1, 30} {
		m, tries, failed := &model{}, 0, 0
		late := runnerFunc(func(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
			if tries++; tries > sound {
				failed++
				return nil, errors.New("ended by itself\nexit status 255")
			}
			return m.Run(ctx, s)
		})
		r, err := New(Options{Target: on, Depth: 1, Strategy: Exhaustive, Time: time.Minute}).Run(t.Context(), []Runner{late})
		if sound == 0 {
			if !errors.Is(err, errNoRunners) || failed != failuresAtFirst {
				t.Errorf("%d failed: %v", failed, err)
			}
			continue
		}
		want := fmt.Sprintf("no schedule can be run: the last %d runs failed: ended by itself", failed)
		if err != nil || failed != failuresAtFirst+2 || r.Stopped != want || r.Unproved() != "the search ended early: "+want {
			t.Errorf("after %d runs: %v; %q, %q; %d failed", sound, err, r.Stopped, r.Unproved(), failed)
		}
		addsUp(t, r)
	}
}

// A depth is done when its last run has ended, not when it has begun.
func TestDoneWithTheLastRun(t *testing.T) {
	on := target(1, 1, "pause")
	there := points(on, 1)
	for _, ends := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		m := &model{}
		last := runnerFunc(func(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
			if len(m.played) == there-1 && !ends {
				cancel()
				return nil, ctx.Err()
			}
			return m.Run(ctx, s)
		})
		r, err := New(Options{Target: on, Depth: 1, Strategy: Exhaustive, Time: time.Minute}).Run(ctx, []Runner{last})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		addsUp(t, r)
		if d := r.Depths[1]; d.Done != ends || d.All() != ends || (d.NotReached == 0) != ends {
			t.Errorf("the last run ends %v: %+v", ends, d)
		}
	}
}

// A trigger is judged by its rate.
func TestTriggersByTheirRate(t *testing.T) {
	for outcomes, given := range map[string]bool{
		"--":           false, // two runs say little
		"---":          true,
		"+++++--":      false, // it came five times
		"+----":        false,
		"+--------":    true, // one of nine
		"+-+-+-+-+-+-": false,
		"---+++":       false, // what comes later lets it be tried again
	} {
		h := New(Options{Target: target(1, 1), Depth: 0})
		st := scenarios.TriggeredFault{When: scenarios.Trigger{At: scenarios.Before, Client: "A", Do: "write", Nth: 1}}
		for _, o := range outcomes {
			h.came("overlap", st, o == '+', "it never came")
		}
		if why := h.hopeless("overlap", []scenarios.TriggeredFault{st}); (why != "") != given || given && !strings.Contains(why, fmt.Sprintf("of %d runs", len(outcomes))) {
			t.Errorf("%s: %q, want it given up: %v", outcomes, why, given)
		}
		h.stop()
	}
}

// A hunt that goes on knows what was discarded before: that nothing is proved stays true.
func TestResumeKeepsDiscarded(t *testing.T) {
	on := target(1, 1, "pause")
	for name, m := range map[string]func() *model{
		"as planned": func() *model { return &model{} },
		"discarded": func() *model {
			return &model{discarded: func(*scenarios.Scenario) (of, why string, cannot bool) { return "", "it struck late", false }}
		},
		"too busy": func() *model { return &model{busy: map[string]int{"": 2}} },
	} {
		var known []Ran
		o := Options{Target: on, Depth: 1, Record: func(p Ran) { known = append(known, p) }}
		_, first := search(t, m(), o, 1)
		o.Known, o.Record = known, nil
		_, again := search(t, &model{}, o, 1)
		if again.Discarded != first.Discarded || again.Busy != first.Busy || again.Runs != first.Runs || again.Unproved() != first.Unproved() {
			t.Errorf("%s: %d of %d discarded, %d busy: %q; of one that goes on %d of %d, %d: %q", name,
				first.Discarded, first.Runs, first.Busy, first.Unproved(), again.Discarded, again.Runs, again.Busy, again.Unproved())
		}
		for i := range first.Depths {
			if first.Depths[i] != again.Depths[i] {
				t.Errorf("%s: %+v, of one that goes on %+v", name, first.Depths[i], again.Depths[i])
			}
		}
	}
}

// TestComplete: what a portion that never came back would have run is not reached, and no depth is done without it.
func TestComplete(t *testing.T) {
	target := Target{Lock: "redis", Servers: []string{"redis"}, Kinds: []string{"pause:client"}, TTL: time.Second}
	sizes := target.Sizes(1)
	if len(sizes) != 2 || sizes[0] == 0 || sizes[1] == 0 || sizes[0]+sizes[1] != target.Size(1) {
		t.Fatalf("sizes %v of %d", sizes, target.Size(1))
	}
	r := Result{Depths: []Depth{{Faults: 0, Space: sizes[0], Ran: sizes[0], Done: true}, {Faults: 1, Space: sizes[1] - 2, Ran: sizes[1] - 2, Done: true}}}
	r.Complete(sizes)
	if d := r.Depths[0]; !d.All() || d.NotReached != 0 {
		t.Errorf("without faults: %+v", d)
	}
	if d := r.Depths[1]; d.Done || d.NotReached != 2 || d.Space != sizes[1] || d.sum() != d.Space {
		t.Errorf("with one: %+v", d)
	}
}
