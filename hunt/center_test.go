package hunt

import (
	"fmt"
	"math"
	"testing"

	"github.com/picklock/picklock/scenarios"
)

// Times end in the middle of the range in which the bug comes, as far as that is looked for.
func TestCenter(t *testing.T) {
	for _, x := range []struct {
		found, from, to, want float64
	}{
		{6, 1, 100, 1.5},      // long enough: half as long again as it has to be
		{1.1, 1, 100, 1.5},    // close to the end where it stops coming
		{1.9, 1, 2, 1.5},      // it comes up to 2 only
		{1.5, 1, 2, 1.5},      // it is there
		{2.2, 2, 2.4, 2.2},    // a narrow range
		{0.3, 0.05, 100, 0.1}, // nothing shorter than a tenth of a lease is tried
	} {
		t.Run(fmt.Sprint(x), func(t *testing.T) {
			s := parsed(t, fmt.Sprintf("  - when: before A's write\n    pause: A\n    until: %v leases\n  - when: after A's write\n    reset: A to s1\n", x.found))
			m := &model{bugs: []bug{{"granted-early", "", func(s *scenarios.Scenario) bool {
				v := s.TriggeredFaults[0].Until.Or.Leases
				return v >= x.from && v <= x.to
			}}}}
			h := New(Options{Target: target(1, 1)})
			defer h.stop()
			k := &shrinker{h: h, runner: m, sig: Signature{Anomaly: "granted-early"}, budget: 1000}
			got := k.center(t.Context(), s).TriggeredFaults[0].Until.Or.Leases
			if math.Abs(got-x.want) > 0.15 || got < x.from || got > x.to {
				t.Errorf("got %v, want about %v", got, x.want)
			}
			for _, played := range m.played {
				if p, err := scenarios.Parse("s.yaml", []byte(played)); err != nil || len(p.TriggeredFaults) != 2 {
					t.Fatalf("%v\n%s", err, played)
				}
			}
			if k.runs != len(m.played) || k.runs > 60 {
				t.Errorf("%d runs, %d of them told", len(m.played), k.runs)
			}
		})
	}
}

// What an event ends has no time of its own; a client's thinking has, and one in seconds stays
// so. Nothing is changed that the whole test does not confirm.
func TestCenterWhat(t *testing.T) {
	s, err := scenarios.Parse("s.yaml", []byte("name: mine\nabout: x\nlocks: [model]\nttl: 250ms\nclients:\n  A: acquire, work 1s, write, release\n  B: acquire within 4 leases, write, release\nfaults:\n  - when: before A's write\n    pause: A\n    until: B granted or 4 leases\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := &model{bugs: []bug{{"granted-early", "", func(s *scenarios.Scenario) bool { return s.Programs["A"][1].Span.Of(s.TTL) >= s.TTL }}}}
	h := New(Options{Target: target(1, 1)})
	defer h.stop()
	k := &shrinker{h: h, runner: m, sig: Signature{Anomaly: "granted-early"}, budget: 1000}
	got := k.center(t.Context(), s)
	if want := "acquire, work 375ms, write, release"; got.Programs["A"].String() != want {
		t.Errorf("got %s, want %s", got.Programs["A"], want)
	}
	if got.TriggeredFaults[0].String() != s.TriggeredFaults[0].String() || len(k.acceptedSteps) != 2 {
		t.Errorf("got %s after %d changes", got.TriggeredFaults[0], len(k.acceptedSteps))
	}
	// It comes in short tries and fails the whole test: it stays as it was.
	n := 0
	m = &model{bugs: []bug{{"granted-early", "", func(*scenarios.Scenario) bool { n++; return n%4 != 0 }}}}
	k = &shrinker{h: h, runner: m, sig: Signature{Anomaly: "granted-early"}, budget: 1000}
	if got := k.center(t.Context(), s); key(got) != key(s) {
		t.Errorf("changed:\n%s", got.Write())
	}
	// What has no time is not run at all.
	m = &model{bugs: []bug{{"granted-early", "", struck("reset", "A")}}}
	k = &shrinker{h: h, runner: m, sig: Signature{Anomaly: "granted-early"}, budget: 1000}
	if k.center(t.Context(), parsed(t, "  - when: after A's write\n    reset: A to s1\n")); k.runs != 0 {
		t.Errorf("%d runs of a schedule without a time", k.runs)
	}
	k = &shrinker{h: h, runner: &model{}, sig: Signature{Anomaly: "granted-early"}, budget: 0}
	if got := k.center(t.Context(), s); key(got) != key(s) || k.runs != 0 {
		t.Errorf("without a budget: %d runs\n%s", k.runs, got.Write())
	}
}
