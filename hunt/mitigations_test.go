package hunt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/scenarios"
)

// Whatever is said to help is tried on every counterexample as often as all else, and what is told is
// whether it did.
func TestMitigations(t *testing.T) {
	breaks := func(s *scenarios.Scenario) bool {
		return struck("pause", "")(s) && s.Extra["careful"] != "yes" && !slices.Contains(s.Fencing, "read-write")
	}
	m := &model{bugs: []bug{{"granted-early", "", breaks}}}
	on := target(1, 1, "pause")
	on.Extra = map[string]string{"other": "1"}
	h, _ := search(t, m, Options{Target: on, Depth: 1, FailFast: true}, 1)
	var tried []Variation
	ended := 0
	err := h.Finish(t.Context(), []Runner{m}, FinishOptions{
		Replays: 5, Fencing: []string{"write", "read-write"}, Options: []Setting{{"careful", "yes"}, {"delay", "1s"}, {"gone", "x"}},
		Vary: func(_ context.Context, v Variation) (Runner, func() error, error) {
			if tried = append(tried, v); v.Option.Name == "gone" {
				return nil, nil, errors.New("no such option")
			}
			return m, func() error { ended++; return nil }, nil
		},
	})
	if err != nil || len(h.result.Counterexamples) != 1 {
		t.Fatalf("%v, counterexamples %v", err, counterexampleNames(&h.result))
	}
	w, usual := h.result.Counterexamples[0], Variation{Fencing: "none", TTL: on.TTL}
	with := func(change func(*Variation)) Variation { v := usual; change(&v); return v }
	want := []Variation{
		with(func(v *Variation) { v.Fencing = "write" }), with(func(v *Variation) { v.Fencing = "read-write" }),
		with(func(v *Variation) { v.Option = Setting{"careful", "yes"} }), with(func(v *Variation) { v.Option = Setting{"delay", "1s"} }), with(func(v *Variation) { v.Option = Setting{"gone", "x"} }),
		with(func(v *Variation) { v.TTL = 3 * on.TTL }),
	}
	if !slices.Equal(tried, want) || ended != len(want)-1 {
		t.Errorf("tried %+v, want %+v; %d were ended", tried, want, ended)
	}
	hits := map[string]int{"--fencing write": 10, "--fencing read-write": 0, "--lock-option careful=yes": 0, "--lock-option delay=1s": 10, "a lease of 750ms, the sections as long as before (--ttl)": 10}
	for _, r := range w.Mitigations {
		switch want, known := hits[r.Name]; {
		case r.Name == "--lock-option gone=x":
			if r.Why != "no such option" || r.Rate.Runs != 0 {
				t.Errorf("%+v", r)
			}
		case strings.HasPrefix(r.Name, "looking at the lease"):
		case !known || r.Rate != Rate{Hits: want, Runs: 10}:
			t.Errorf("%+v, want %d of 10", r, want)
		default:
			delete(hits, r.Name)
		}
	}
	if len(hits) > 0 {
		t.Errorf("not tried: %v", hits)
	}
	// What is tried with an option goes on with the others.
	for _, k := range m.played {
		if strings.Contains(k, "careful") && !strings.Contains(k, "other") {
			t.Fatalf("run without the options of the hunt:\n%s", k)
		}
	}
}

// A remedy with which no run counts is not said to help.
func TestMitigationNotPlayed(t *testing.T) {
	m := &model{bugs: []bug{{"granted-early", "", struck("pause", "")}}}
	h, _ := search(t, m, Options{Target: target(1, 1, "pause"), Depth: 1, FailFast: true}, 1)
	never := &model{busy: map[string]int{"": 1 << 20}}
	err := h.Finish(t.Context(), []Runner{m}, FinishOptions{
		Replays: 5, Time: time.Minute, Options: []Setting{{"careful", "yes"}},
		Vary: func(context.Context, Variation) (Runner, func() error, error) {
			return never, func() error { return nil }, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range h.result.Counterexamples[0].Mitigations {
		if strings.Contains(r.Name, "careful") && (r.Rate.Runs != 0 || r.Rate.Discarded == 0) {
			t.Errorf("%+v", r)
		}
	}
}

// What there was no time for says so, and not what was under way when the time was over.
func TestMitigationOutOfTime(t *testing.T) {
	m := &model{bugs: []bug{{"granted-early", "", struck("pause", "")}}}
	h, r := search(t, m, Options{Target: target(1, 1, "pause"), Depth: 1, FailFast: true}, 1)
	asked := 0
	ctx, cancel := context.WithCancel(t.Context())
	h.mitigations(ctx, m, r.Counterexamples[0], FinishOptions{
		Options: []Setting{{"careful", "yes"}, {"slow", "no"}},
		Vary: func(context.Context, Variation) (Runner, func() error, error) {
			asked++
			cancel()
			return nil, nil, fmt.Errorf("ask a testbed: %w", context.Canceled)
		},
	})
	var why []string
	for _, x := range r.Counterexamples[0].Mitigations {
		if x.Rate.Runs == 0 {
			why = append(why, x.Why)
		}
	}
	if asked != 1 || len(why) < 2 || slices.ContainsFunc(why, func(w string) bool { return w != timeOver }) {
		t.Errorf("%d testbeds asked for, not tried since %q", asked, why)
	}
}

// slow is a runner whose runs take time.
type slow struct {
	*model
	each time.Duration
}

func (s slow) Run(ctx context.Context, x *scenarios.Scenario) (*Outcome, error) {
	select {
	case <-time.After(s.each):
		return s.model.Run(ctx, x)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// However long it takes to make a counterexample small, there is time left to measure it.
func TestTimeForMitigations(t *testing.T) {
	m := &model{bugs: []bug{{"granted-early", "", struck("pause", "")}}}
	h, _ := search(t, m, Options{Target: target(1, 1, "pause"), Depth: 1, FailFast: true}, 1)
	if err := h.Finish(t.Context(), []Runner{slow{m, 40 * time.Millisecond}}, FinishOptions{Replays: 2, Time: 2 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if w := h.result.Counterexamples[0]; w.ShrinkRuns < 10 || w.Alone.Runs != 2 {
		t.Errorf("%d runs to make it small, alone %+v", w.ShrinkRuns, w.Alone)
	}
}

// A counterexample that nothing was done with is a scenario all the same: it has its name, and what
// is to be seen.
func TestCounterexampleIsScenario(t *testing.T) {
	for name, finish := range map[string]bool{"found": false, "finished in no time": true} {
		t.Run(name, func(t *testing.T) {
			m := &model{bugs: []bug{{"granted-early", "", struck("pause", "")}}}
			h, r := search(t, m, Options{Target: target(1, 1, "pause"), Depth: 1, FailFast: true}, 1)
			if finish {
				if err := h.Finish(t.Context(), []Runner{m}, FinishOptions{Replays: 5, Time: 1}); err != nil {
					t.Fatal(err)
				}
			}
			w := r.Counterexamples[0]
			s, err := w.scenario()
			if err != nil || w.Name == "" || s.Name != w.Name || w.Alone.Runs != 0 {
				t.Fatalf("%v, %s, measured %v:\n%s", err, w.Name, w.Alone, w.Schedule)
			}
			if want := s.Expected("model", "none"); want == nil || !slices.Equal(want.Must, []string{"granted-early"}) || s.Replay != "4 of 4" {
				t.Errorf("expected %+v, replays %s", want, s.Replay)
			}
		})
	}
}

// A run in which a trigger never came is one that says little; one in which a fault could
// not be done is none.
func TestRateTellsWhatWasMissed(t *testing.T) {
	for _, cannot := range []bool{false, true} {
		m := &model{discarded: func(s *scenarios.Scenario) (of, why string, _ bool) { return "pause: A", "not as it was meant", cannot }}
		h := New(Options{Target: target(1, 1), Time: time.Minute})
		defer h.stop()
		got := h.rate(t.Context(), m, target(1, 1).schedule(workloads(target(1, 1))[0]), Signature{Anomaly: "granted-early"}, 4)
		want := Rate{Runs: 4, Missed: 4}
		if cannot {
			want = Rate{Discarded: 5}
		}
		if got != want {
			t.Errorf("cannot be done %v: %+v, want %+v", cannot, got, want)
		}
	}
}

// What there was no time for is said, of each counterexample and of the whole.
func TestNoTimeToFinish(t *testing.T) {
	m := &model{bugs: []bug{{"granted-early", "", struck("pause", "")}}}
	h, r := search(t, m, Options{Target: target(1, 1, "pause"), Depth: 1, FailFast: true}, 1)
	if len(r.Counterexamples) != 1 || r.Counterexamples[0].Larger != asFound {
		t.Fatalf("as it was found: %+v", r.Counterexamples)
	}
	var told []string
	finish := func(ctx context.Context) *Result {
		told, h.result.Unfinished = nil, nil
		if err := h.Finish(ctx, []Runner{m}, FinishOptions{Replays: 5, Time: time.Minute, Tell: func(text string) { told = append(told, text) }}); err != nil {
			t.Fatal(err)
		}
		return &h.result
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	want := []string{"1 of 1 counterexample may not be the least", "1 of 1 counterexample not run alone as often as was asked for", "not every cause and mitigation was tried on 1 of 1 counterexample"}
	if r := finish(over); r.Counterexamples[0].Larger != timeOver || !slices.Equal(r.Unfinished, want) || len(told) != 1 || !strings.Contains(told[0], want[0]) {
		t.Errorf("%q, unfinished %q, told %q", r.Counterexamples[0].Larger, r.Unfinished, told)
	}
	if r := finish(t.Context()); r.Counterexamples[0].Larger != "" || len(r.Unfinished) != 0 {
		t.Errorf("with time enough: %q, unfinished %q", r.Counterexamples[0].Larger, r.Unfinished)
	}
}

// A counterexample that comes now and then is made smaller, too, and one that comes too seldom is said to be
// as it was found.
func TestFinishUnsteady(t *testing.T) {
	for rate, want := range map[float64]string{0.6: "", 0.03: "too seldom for it to be made smaller"} {
		m := &model{bugs: []bug{{"granted-early", "", struck("pause", "")}}}
		h, _ := search(t, m, Options{Target: target(1, 1, "pause"), Depth: 1, FailFast: true}, 1)
		before := h.counterexamples[0].Steps
		m.rate, m.rng = rate, rand.New(rand.NewPCG(3, 3))
		if err := h.Finish(t.Context(), []Runner{m}, FinishOptions{Replays: 20, Time: time.Minute}); err != nil {
			t.Fatal(err)
		}
		w := h.result.Counterexamples[0]
		if (want == "") != (w.Larger == "") || !strings.Contains(w.Larger, want) || (w.Steps < before) != (want == "") {
			t.Errorf("rate %v: %q, %d steps of %d, %+v", rate, w.Larger, w.Steps, before, w.Alone)
		}
		if want == "" && !strings.Contains(w.Schedule, fmt.Sprintf("replay: \"%d of 20\"", w.Alone.Hits)) {
			t.Errorf("its file does not say how often it comes:\n%s", w.Schedule)
		}
	}
}
