package hunt

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/scenarios"
)

// What is expected of the least schedule is what its own runs show: a lost update that came of a
// client which was left away since is neither expected nor forbidden.
func TestExpectedOfTheLeast(t *testing.T) {
	large := func(s *scenarios.Scenario) bool { return struck("pause", "A")(s) && len(s.Clients) == 3 }
	m := &model{bugs: []bug{
		{"lost-update", AfterLease, large},
		{"stale-write", AfterLease, struck("pause", "A")},
	}}
	for _, finish := range []FinishOptions{{Replays: 5, Time: time.Minute}, {Replays: 0, Time: time.Minute}} {
		h, _ := search(t, m, Options{Target: target(1, 1, "pause:client"), Depth: 1, FailFast: true}, 1)
		if got := h.counterexamples[0].Anomalies; len(got) != 2 {
			t.Fatalf("found with %q", got)
		}
		if err := h.Finish(t.Context(), []Runner{m}, finish); err != nil {
			t.Fatal(err)
		}
		w := h.result.Counterexamples[0]
		if !slices.Equal(w.Anomalies, []string{"stale-write"}) || !slices.Equal(w.Forbid(), w.Anomalies) || !slices.Equal(w.mustSee(), w.Anomalies) {
			t.Errorf("anomalies %q, forbidden %q", w.Anomalies, w.Forbid())
		}
		if s, err := w.scenario(); err != nil || !slices.Equal(s.Expected("model", "none").Must, []string{"stale-write"}) {
			t.Errorf("%v\n%s", err, w.Schedule)
		}
	}
}

// One run of one is no rate.
func TestSteadyNeedsRuns(t *testing.T) {
	for _, c := range []struct {
		search, alone Rate
		want          bool
	}{
		{Rate{Hits: 1, Runs: 1}, Rate{}, false},
		{Rate{Hits: 2, Runs: 2}, Rate{}, false},
		{Rate{Hits: 3, Runs: 3}, Rate{}, true},
		{Rate{Hits: 4, Runs: 4}, Rate{Hits: 1, Runs: 1}, true},
		{Rate{Hits: 4, Runs: 4}, Rate{Hits: 0, Runs: 2}, false},
		{Rate{Hits: 4, Runs: 4}, Rate{Hits: 5, Runs: 20}, false},
		{Rate{}, Rate{}, false},
	} {
		if got := (&Counterexample{Search: c.search, Alone: c.alone}).Steady(); got != c.want {
			t.Errorf("%+v, alone %+v: steady %v", c.search, c.alone, got)
		}
	}
}

// A hunt with --ignore-lost finds schedules that say so: they replay without the flag.
func TestIgnoreLostIsInTheSchedule(t *testing.T) {
	on := target(1, 1, "pause")
	for _, ignore := range []bool{false, true} {
		on.IgnoreLost = ignore
		h, _ := search(t, &model{bugs: []bug{{"granted-early", "", struck("pause", "A")}}}, Options{Target: on, Depth: 1, FailFast: true}, 1)
		s, err := h.counterexamples[0].scenario()
		if err != nil || s.IgnoreLost != ignore || strings.Contains(h.counterexamples[0].Schedule, "ignore-lost: true") != ignore {
			t.Errorf("ignored %v: %v\n%s", ignore, err, h.counterexamples[0].Schedule)
		}
	}
}

// telling is a model that explains each anomaly by the schedule that showed it.
type telling struct{ *model }

func (m telling) Run(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
	out, err := m.model.Run(ctx, s)
	if err == nil {
		for i := range out.Verdict.Anomalies {
			out.Verdict.Anomalies[i].Explanation = key(s)
		}
	}
	return out, err
}

// TestExplanationOfTheLeast: a counterexample's explanation comes from a run of the schedule that is shown, even if there was no time to measure it.
func TestExplanationOfTheLeast(t *testing.T) {
	// Where the middle of the range in which it comes is another time than the one that it was found with.
	worksFor := func(s *scenarios.Scenario) bool {
		return struck("pause", "A")(s) && slices.ContainsFunc(s.Programs["A"], func(m scenarios.Move) bool { return m.Do == scenarios.Work && m.Span.Leases >= 0.9 })
	}
	m := telling{&model{bugs: []bug{{"stale-write", AfterLease, worksFor}}}}
	h := New(Options{Target: target(1, 1, "pause:client"), Depth: 1, FailFast: true, Strategy: Exhaustive, Time: time.Minute})
	if _, err := h.Run(t.Context(), []Runner{m}); err != nil {
		t.Fatal(err)
	}
	before := h.counterexamples[0].Schedule
	h.Shrink(t.Context(), []Runner{m}, FinishOptions{Time: time.Minute})
	w := h.result.Counterexamples[0]
	s, err := w.scenario()
	if err != nil {
		t.Fatal(err)
	}
	if w.Schedule == before {
		t.Fatal("it was not made smaller")
	}
	if w.Explanation != key(s) || w.Evidence.Anomaly.Explanation != key(s) {
		t.Errorf("it is explained by\n%s\nand is\n%s", w.Explanation, key(s))
	}
	k := &shrinker{h: h}
	for _, what := range w.Needed {
		if !slices.Contains(k.parts(s), what) {
			t.Errorf("%q is needed, and is not there:\n%s", what, w.Schedule)
		}
	}
	if len(w.Needed) == 0 {
		t.Error("nothing is needed")
	}
}
