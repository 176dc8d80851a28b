package hunt

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker/verdict"
)

// travels is what comes over a network.
func travels[T any](t *testing.T, v T) (out T) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMeasuredByMany: counterexamples that are measured one by one, each elsewhere, in any order, come to
// what one machine makes of them all.
func TestMeasuredByMany(t *testing.T) {
	m := func() *model {
		return &model{bugs: []bug{
			{"granted-early", "clock", both(struck("pause", "A"), struck("kill", "B"))},
			{"stale-write", "renewed-late", struck("hold", "")},
			{"lost-update", "", struck("pause", "B")},
		}}
	}
	o := Options{Target: target(1, 1, "pause", "kill", "hold"), Depth: 2}
	parts := portions(t, m, o, Part{First: 0, Step: 2}, Part{First: 1, Step: 2})
	finish := FinishOptions{Replays: 3, Fencing: []string{"write"}, Vary: func(context.Context, Variation) (Runner, func() error, error) {
		return m(), func() error { return nil }, nil
	}}
	one := Assemble(o, parts)
	if err := one.Finish(t.Context(), []Runner{m()}, finish); err != nil {
		t.Fatal(err)
	}
	many := Assemble(o, parts)
	many.Shrink(t.Context(), []Runner{m()}, finish)
	finds := travels(t, many.Finds())
	for i := range slices.Backward(finds) {
		other := Assemble(o, nil)
		other.Adopt(finds[i : i+1])
		if err := other.Measure(t.Context(), []Runner{m()}, finish); err != nil {
			t.Fatal(err)
		}
		finds[i] = travels(t, other.Finds())[0]
	}
	got := Gather(travels(t, *many.Result()), finds)
	want := one.Result()
	if len(want.Counterexamples) < 2 || len(want.Counterexamples[0].Mitigations) == 0 {
		t.Fatalf("one machine came to %v", counterexampleNames(want))
	}
	for _, r := range []*Result{want, got} {
		for _, w := range r.Counterexamples {
			w.Evidence = nil // of whichever run
		}
	}
	x, _ := json.MarshalIndent(want.Counterexamples, "", " ")
	y, _ := json.MarshalIndent(got.Counterexamples, "", " ")
	if string(x) != string(y) || !slices.Equal(got.Unfinished, want.Unfinished) || got.Runs != want.Runs {
		t.Errorf("one machine: %s\nmany: %s", x, y)
	}
}

// TestCostlyLast: a counterexample whose runs take long leaves the others time, and has what is left.
func TestCostlyLast(t *testing.T) {
	m := &model{bugs: []bug{
		{"granted-early", "clock", both(struck("pause", "A"), struck("kill", "B"))},
		{"lost-update", "", struck("pause", "B")},
	}}
	h := Assemble(Options{Target: target(1, 1, "pause", "kill"), Depth: 2}, portions(t, func() *model { return m }, Options{Target: target(1, 1, "pause", "kill"), Depth: 2}, Part{First: 0, Step: 1}))
	var said []string
	o := FinishOptions{Replays: 20, Tell: func(s string) { said = append(said, s) }}
	h.Shrink(t.Context(), []Runner{m}, o)
	if len(h.counterexamples) < 2 {
		t.Fatalf("found %d counterexamples", len(h.counterexamples))
	}
	slow := h.counterexamples[0]
	slow.took, said = 6*time.Second, nil
	var want, tried []string
	for _, w := range h.counterexamples[1:] {
		w.took = time.Millisecond
		want, tried = append(want, "run "+w.Name+" alone"), append(tried, "try mitigations of "+w.Name)
	}
	want = append(append(want, "run "+slow.Name+" in groups of 2"), tried...)
	want = append(want, "try mitigations of "+slow.Name)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := h.Measure(ctx, []Runner{m, m}, o); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(said, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	for _, w := range h.counterexamples {
		if at := map[bool]int{true: 2}[w == slow]; w.Alone.Beside != at {
			t.Errorf("%s: %d at a time, want %d", w.Name, w.Alone.Beside, at)
		}
		if w.Alone.Runs != 20 || w.Alone.Hits != 20 || w.Unmeasured || w.Untried || !strings.Contains(w.Schedule, "20 of 20") {
			t.Errorf("%s: %+v, unmeasured %v, untried %v:\n%s", w.Name, w.Alone, w.Unmeasured, w.Untried, w.Schedule)
		}
	}
	h.conclude(o)
	if len(h.result.Unfinished) > 0 || h.result.Counterexamples[0] != slow {
		t.Errorf("unfinished %q, first %s", h.result.Unfinished, h.result.Counterexamples[0].Name)
	}
}

// What the record of a run alone tells is known only in the end: two that are one bug by it become one, and names have no gap.
func TestComparedInTheEnd(t *testing.T) {
	of := func(n int, anomaly string, suspect *verdict.Suspect) *Counterexample {
		return &Counterexample{
			Signature: Signature{Anomaly: anomaly, Cause: anomaly, Kinds: []string{"a wrong clock of a server", "a crash of a client"}[:min(n, 2)]},
			Name:      fmt.Sprintf("counterexample-%d-%s", n, anomaly), Search: Rate{Hits: 3, Runs: 3}, Faults: n,
			Schedule: fmt.Sprintf("name: counterexample-%d-%s\nabout: x\nlocks: [mine]\nttl: 1s\nlease: 2s\nclients:\n  A: acquire, write\n  B: acquire, write\nexpect:\n  mine: valid\n", n, anomaly),
			Evidence: &Evidence{Anomaly: verdict.Anomaly{Name: anomaly, Cause: anomaly, Suspect: suspect}},
		}
	}
	clock := &verdict.Suspect{Fault: "clock", On: verdict.OnServer}
	h := &Search{counterexamples: []*Counterexample{of(1, "granted-early", nil), of(2, "deadlock", clock), of(3, "wrong-release", nil)}}
	h.conclude(FinishOptions{})
	if len(h.counterexamples) != 3 || h.counterexamples[2].Name != "counterexample-3-wrong-release" {
		t.Fatalf("%v", h.counterexamples)
	}
	h.counterexamples[0].Evidence.Anomaly.Suspect = clock
	h.conclude(FinishOptions{})
	var got []string
	for _, w := range h.result.Counterexamples {
		for _, w := range append([]*Counterexample{w}, w.Variants...) {
			got = append(got, w.Name)
			if s, err := w.scenario(); err != nil || s.Name != w.Name || len(s.Expect) != 1 || s.Expect[0].Lock != "mine" || s.Lease != 2*time.Second {
				t.Errorf("%v in the schedule of %s:\n%s", err, w.Name, w.Schedule)
			}
		}
	}
	if want := []string{"counterexample-1-granted-early", "counterexample-1-granted-early-variant-1", "counterexample-2-wrong-release"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTrailTravels: what was made smaller at the price of its rate is taken back elsewhere, too,
// and what there was no time for is told by whoever gathers it.
func TestTrailTravels(t *testing.T) {
	w := &Counterexample{Signature: Signature{Anomaly: "stale-write"}, Name: "counterexample-1-stale-write", Search: Rate{Hits: 4, Runs: 4}, acceptedSteps: []string{"larger"}, hitRate: 0.5}
	h := New(Options{Target: target(1, 1)})
	h.stop()
	h.Adopt(travels(t, []Find{{Counterexample: w, Trail: w.acceptedSteps, Share: w.hitRate}}))
	if got := h.counterexamples[0]; !slices.Equal(got.acceptedSteps, w.acceptedSteps) || got.hitRate != 0.5 {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Measure(ctx, nil, FinishOptions{Replays: 3, Time: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if r := Gather(Result{}, travels(t, h.Finds())); len(r.Unfinished) != 2 || len(r.Counterexamples) != 1 {
		t.Errorf("%q", r.Unfinished)
	}
}
