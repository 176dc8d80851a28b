package hunt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/scenarios"
)

// A hunt that finds nothing says how much there was to run, and has run it.
func TestNothingFound(t *testing.T) {
	on := target(1, 1, "pause", "kill")
	m := &model{}
	_, r := search(t, m, Options{Target: on, Depth: 1}, 3)
	want := points(on, 1)
	if len(m.played) != want || r.Runs != want {
		t.Errorf("%d runs, %d told, of %d points", len(m.played), r.Runs, want)
	}
	if got, want := r.Summary(), fmt.Sprintf("PASS: no counterexample in %[1]d of %[1]d schedules without faults, %[2]d of %[2]d with 1 fault", points(on, 0), want-points(on, 0)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	slices.Sort(m.played)
	if n := len(slices.Compact(m.played)); n != want {
		t.Errorf("%d different ones of %d", n, want)
	}
	for _, d := range r.Depths {
		if !d.All() {
			t.Errorf("not all: %+v", d)
		}
	}
}

// A hunt in which nobody ever got the lock proves nothing, nor does one that goes on with
// it.
func TestNeverGranted(t *testing.T) {
	on := target(1, 1, "pause")
	for _, dead := range []bool{false, true} {
		var known []Ran
		o := Options{Target: on, Depth: 1, Record: func(p Ran) { known = append(known, p) }}
		_, r := search(t, &model{dead: dead}, o, 1)
		o.Known, o.Record = known, nil
		_, again := search(t, &model{dead: true}, o, 1)
		for _, r := range []*Result{r, again} {
			if r.Runs == 0 || (r.Unproved() != "") != dead || dead && r.Granted != 0 || !dead && r.Granted != r.Runs {
				t.Errorf("nobody gets it: %v; %d runs, granted in %d: %q", dead, r.Runs, r.Granted, r.Unproved())
			}
		}
	}
}

// A search that is cut short does not say that a depth is done.
func TestCutShort(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	const most = 100 // every fault has had its first turn by then, and all schedules without faults
	m := &model{after: func(n int) {
		if n == most {
			cancel()
		}
	}}
	r, err := New(Options{Target: target(1, 1), Depth: 1, Strategy: Exhaustive, Time: time.Minute}).Run(ctx, []Runner{m})
	if err != nil || !r.CutShort || !r.Depths[0].Done || r.Depths[1].Done || r.Runs > most {
		t.Errorf("%+v, %v", r, err)
	}
	addsUp(t, r)
	none := points(target(1, 1), 0)
	there := points(target(1, 1), 1) - none
	if d := r.Depths[1]; d.Space != there || d.Ran == 0 || d.Ran > most-none || d.NotReached != there-d.Ran {
		t.Errorf("%+v, of %d", d, there)
	}
	if got, want := r.Summary(), fmt.Sprintf("UNKNOWN: the hunt was interrupted; no counterexample in %[1]d of %[1]d schedules without faults, %d of %s with 1 fault", none, r.Depths[1].Ran, format.Count(there)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What this machine was too busy for is run again, and not counted.
func TestBusy(t *testing.T) {
	on := target(1, 1, "pause")
	m := &model{busy: map[string]int{"": 2}}
	_, r := search(t, m, Options{Target: on, Depth: 1}, 2)
	want := points(on, 1)
	played := 0
	for _, d := range r.Depths {
		played += d.Ran
	}
	if played != want || r.Busy != 2*want || r.Runs != 3*want {
		t.Errorf("%d of %d run, %d busy, %d in all", played, want, r.Busy, r.Runs)
	}
	// One for which it is always too busy is given up.
	m = &model{busy: map[string]int{"": 1000}}
	if _, r = search(t, m, Options{Target: on, Depth: 0}, 1); r.Runs != 3*points(on, 0) || r.Depths[0].Ran != 0 || r.Depths[0].Discarded != points(on, 0) {
		t.Errorf("%d runs of %d, %d counted", r.Runs, points(on, 0), r.Depths[0].Ran)
	}
}

// A guided schedule that is run again may have more faults than the space.
func TestBusyBeyondTheSpace(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &model{busy: map[string]int{"": 1}, after: func(n int) {
		if n == 400 {
			cancel()
		}
	}}
	r, err := New(Options{Target: target(3, 1), Strategy: Random, Depth: 0, Time: time.Minute, Seed: 1}).Run(ctx, []Runner{m})
	if err != nil || r.Guided < 100 || r.Depths[0].Ran != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Violations of one signature are one counterexample, and a write that comes too late is one counterexample,
// however it came about.
func TestCounterexamples(t *testing.T) {
	m := &model{bugs: []bug{
		{"granted-early", "", both(struck("pause", "A"), func(s *scenarios.Scenario) bool { return len(s.TriggeredFaults) == 1 })},
		{"granted-early", "", both(struck("kill", "redis"), func(s *scenarios.Scenario) bool { return len(s.TriggeredFaults) == 1 })},
		{"wrong-release", "", struck("kill", "A")},
		{"stale-write", "lease-outlived", struck("pause", "")},
		{"stale-write", "delayed", struck("hold", "")},
		{"lost-update", "", struck("kill", "redis")}, // a session has no lease that could have ended
	}}
	_, r := search(t, m, Options{Target: target(1, 1, "pause", "kill", "hold"), Depth: 1}, 2)
	got := counterexampleNames(r)
	late := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !strings.HasPrefix(s, leaseHazard.Name()) })
	rest := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return strings.HasPrefix(s, leaseHazard.Name()) })
	want := []string{
		"granted-early by a crash of a server", "granted-early by a pause of a client", "granted-early by a pause of a client during an acquire",
		"lost-update by a crash of a server", "wrong-release by a crash of a client", "wrong-release by a crash of a client during an acquire",
	}
	if !slices.Equal(rest, want) || len(late) != 1 {
		t.Errorf("%q, want %q and one stale write", got, want)
	}
	for _, w := range r.Counterexamples {
		if !w.Steady() || w.Seen < 2 || w.Explanation == "" || w.Evidence == nil || w.Search.Runs < 3 || len(w.Anomalies) != 1 {
			t.Errorf("%+v", w)
		}
	}
}

// A violation that does not come again is kept, and not called steady.
func TestOnce(t *testing.T) {
	times := 0
	m := &model{bugs: []bug{{"granted-early", "", func(s *scenarios.Scenario) bool {
		times++
		return times == 5
	}}}}
	_, r := search(t, m, Options{Target: target(1, 1, "pause"), Depth: 0}, 1)
	if len(r.Counterexamples) != 1 || r.Counterexamples[0].Steady() || r.Counterexamples[0].Search.Hits != 1 || r.Counterexamples[0].Search.Runs != 3 {
		t.Errorf("%+v", r.Counterexamples)
	}
}

// A reproducible schedule takes the place of an intermittent one; one that shows it
// no oftener does not, and after some of them no more are tried.
func TestSteadierTakesThePlace(t *testing.T) {
	lucky := map[string]int{}
	const sure = "'s release" // the trigger
	for _, steady := range []bool{true, false} {
		clear(lucky)
		m := &model{bugs: []bug{{"granted-early", "", func(s *scenarios.Scenario) bool {
			if !struck("pause", "A")(s) {
				return false
			}
			if steady && strings.Contains(s.TriggeredFaults[0].When.String(), sure) {
				return true
			}
			lucky[key(s)]++
			return lucky[key(s)] == 1 // the first time only
		}}}}
		_, r := search(t, m, Options{Target: target(1, 1, "pause"), Depth: 1}, 1)
		again := 0
		for _, n := range lucky {
			if n > 1 {
				again++
			}
		}
		for _, w := range r.Counterexamples {
			if w.InAcquire {
				continue // another counterexample
			}
			if w.Steady() != steady || steady && !strings.Contains(w.Schedule, sure) || w.Seen < enoughOthers {
				t.Errorf("steady %v: %+v", steady, w)
			}
		}
		if most := (1 + enoughOthers) * len(r.Counterexamples); len(r.Counterexamples) == 0 || !steady && again != most || again > most {
			t.Errorf("steady %v: %d counterexamples; %d schedules were run again, of at most %d", steady, len(r.Counterexamples), again, most)
		}
	}
}

// Pairs are not tried of what breaks it alone.
func TestAloneIsEnough(t *testing.T) {
	m := &model{bugs: []bug{{"granted-early", "", struck("pause", "")}}}
	search(t, m, Options{Target: target(1, 1, "pause", "kill"), Depth: 2}, 1)
	for _, k := range m.played {
		s, err := scenarios.Parse("s.yaml", []byte(k))
		if err != nil {
			t.Fatal(err)
		}
		if len(s.TriggeredFaults) == 2 && struck("pause", "")(s) {
			t.Fatalf("run although the pause alone is enough:\n%s", k)
		}
	}
}

// Pairs are tried of what broke it once and not again.
func TestOnceIsNotEnough(t *testing.T) {
	single := func(s *scenarios.Scenario) bool { return len(s.TriggeredFaults) == 1 && struck("pause", "")(s) }
	first := true
	m := &model{bugs: []bug{{"granted-early", "", func(s *scenarios.Scenario) bool {
		hit := first && single(s)
		first = first && !hit
		return hit
	}}}}
	_, r := search(t, m, Options{Target: target(1, 1, "pause", "kill"), Depth: 2, Strategy: Exhaustive}, 1)
	if len(r.Counterexamples) != 1 || r.Counterexamples[0].Steady() {
		t.Fatalf("counterexamples %q", counterexampleNames(r))
	}
	if d := r.Depths[2]; d.Implied > 0 || d.Ran == 0 {
		t.Errorf("with two faults: %+v", d)
	}
}

// A hunt that goes on runs nothing twice but what it has to confirm, and comes to the same
// counterexamples and the same number.
func TestResume(t *testing.T) {
	on := target(1, 1, "pause", "kill")
	bugs := []bug{{"granted-early", "", struck("pause", "A")}}
	whole := &model{bugs: bugs}
	_, all := search(t, whole, Options{Target: on, Depth: 1}, 1)

	ctx, cancel := context.WithCancel(t.Context())
	var record []Ran
	m := &model{bugs: bugs, after: func(n int) {
		if n == 60 {
			cancel()
		}
	}}
	first, err := New(Options{Target: on, Depth: 1, Strategy: Exhaustive, Time: time.Minute, Record: func(p Ran) { record = append(record, p) }}).Run(ctx, []Runner{m})
	if err != nil || len(first.Counterexamples) == 0 || len(record) < 20 {
		t.Fatalf("%d counterexamples, %d recorded, %v", len(first.Counterexamples), len(record), err)
	}
	again := &model{bugs: bugs}
	_, r := search(t, again, Options{Target: on, Depth: 1, Known: record}, 1)
	if !slices.Equal(counterexampleNames(r), counterexampleNames(all)) {
		t.Errorf("counterexamples %q, want %q", counterexampleNames(r), counterexampleNames(all))
	}
	confirmed := map[string]bool{}
	for _, p := range record {
		if len(p.Broke) > 0 && len(confirmed) == 0 {
			confirmed[p.Schedule] = true
		}
	}
	for _, p := range record {
		if slices.Contains(again.played, p.Schedule) && !confirmed[p.Schedule] {
			t.Errorf("run again:\n%s", p.Schedule)
		}
	}
	for i := range all.Depths {
		if all.Depths[i].Ran != r.Depths[i].Ran || all.Depths[i].Broke != r.Depths[i].Broke {
			t.Errorf("depth %d: %+v, in one go %+v", i, r.Depths[i], all.Depths[i])
		}
	}
}

// What a hunt found stands when it goes on, though it has no time to see it again; and what it had no time to confirm is not
// forgotten.
func TestResumeForgetsNothing(t *testing.T) {
	on := target(1, 1, "pause", "kill")
	var record []Ran
	broken := &model{bugs: []bug{{"granted-early", "", struck("pause", "A")}, {"wrong-release", "", struck("kill", "")}}}
	first, r := search(t, broken, Options{Target: on, Depth: 1, Record: func(p Ran) { record = append(record, p) }}, 1)
	if len(r.Counterexamples) < 2 {
		t.Fatalf("found %q", counterexampleNames(r))
	}
	runs := map[string]int{}
	for _, p := range record {
		runs[p.Schedule]++
	}
	mended := &model{}
	_, again := search(t, mended, Options{Target: on, Depth: 1, Known: record, Found: first.Finds()}, 1)
	if !slices.Equal(counterexampleNames(again), counterexampleNames(r)) {
		t.Errorf("counterexamples %q, were %q", counterexampleNames(again), counterexampleNames(r))
	}
	if len(mended.played) > 0 || again.Runs != len(record) || again.Searched != 0 {
		t.Errorf("%d run again, %d runs of %d, searched %d", len(mended.played), again.Runs, len(record), again.Searched)
	}
	for i := range r.Depths {
		if r.Depths[i] != again.Depths[i] {
			t.Errorf("depth %d: %+v, was %+v", i, again.Depths[i], r.Depths[i])
		}
	}
	// It was killed before it confirmed any.
	mended = &model{}
	_, again = search(t, mended, Options{Target: on, Depth: 1, Known: record}, 1)
	if want := "before it went on, the lock broke once (granted-early, wrong-release), and this was not seen again"; again.Unproved() != want || len(mended.played) == 0 {
		t.Errorf("%q after %d runs, want %q", again.Unproved(), len(mended.played), want)
	}
}

// Of two schedules one implies the other, also where the first was run before the hunt went on.
func TestResumeImplies(t *testing.T) {
	on := target(1, 1, "pause", "kill")
	broken := &model{bugs: []bug{{"granted-early", "", struck("pause", "")}}}
	var record []Ran
	first, r := search(t, broken, Options{Target: on, Depth: 2, Record: func(p Ran) { record = append(record, p) }}, 1)
	if r.Depths[2].Implied == 0 {
		t.Fatalf("%+v", r.Depths[2])
	}
	again := &model{bugs: broken.bugs}
	if _, a := search(t, again, Options{Target: on, Depth: 2, Known: record, Found: first.Finds()}, 1); a.Depths[2] != r.Depths[2] || len(again.played) > 0 {
		t.Errorf("%+v, was %+v; %d run again", a.Depths[2], r.Depths[2], len(again.played))
	}
}

// A limit of faults is kept beyond the space, too.
func TestLimit(t *testing.T) {
	for limit, most := range map[int]int{0: mostFaults, -1: 0, 1: 1} {
		h := New(Options{Target: target(1, 1, "pause", "kill"), Limit: limit})
		h.stop()
		var s *scenarios.Scenario
		seen := 0
		for range 3000 {
			if s == nil {
				s = h.mutator.random()
			} else {
				s = h.mutator.mutate(s)
			}
			if s == nil {
				continue
			}
			seen = max(seen, len(s.TriggeredFaults))
		}
		if seen != most {
			t.Errorf("limit %d: up to %d faults, want %d", limit, seen, most)
		}
	}
}

// FailFast ends with the first that repeats.
func TestFirstCounterexample(t *testing.T) {
	m := &model{bugs: []bug{{"granted-early", "", struck("pause", "A")}}}
	_, r := search(t, m, Options{Target: target(1, 1), Depth: 2, FailFast: true, Strategy: Guided}, 1)
	if len(r.Counterexamples) != 1 || len(m.played) > 200 {
		t.Errorf("%d counterexamples after %d runs", len(r.Counterexamples), len(m.played))
	}
}

// Find looks for nothing else.
func TestFind(t *testing.T) {
	m := &model{bugs: []bug{{"granted-early", "", struck("pause", "")}, {"wrong-release", "", struck("kill", "")}}}
	_, r := search(t, m, Options{Target: target(1, 1, "pause", "kill"), Depth: 1, Find: []string{"wrong-release"}}, 1)
	for _, w := range r.Counterexamples {
		if w.Anomaly != "wrong-release" {
			t.Errorf("found %s", w.Signature)
		}
	}
	if len(r.Counterexamples) == 0 {
		t.Error("nothing found")
	}
}

// What a fault did that could not be done is not its doing.
func TestNothingByWhatCannotBeDone(t *testing.T) {
	for _, cannot := range []bool{true, false} {
		m := &model{
			bugs: []bug{{"granted-early", "", struck("powerloss", "")}},
			discarded: func(s *scenarios.Scenario) (of, why string, _ bool) {
				if !struck("powerloss", "")(s) {
					return "", "", false
				}
				return s.TriggeredFaults[0].Fault.Text, "not as it was meant", cannot
			},
		}
		_, r := search(t, m, Options{Target: target(1, 1, "powerloss"), Depth: 1}, 1)
		if found := len(r.Counterexamples) > 0; found == cannot {
			t.Errorf("cannot be done %v: found %v", cannot, counterexampleNames(r))
		}
	}
}

func TestReason(t *testing.T) {
	for why, want := range map[string]string{
		"disk: fault disk: the servers have no disks":                     "the servers have no disks",
		"fault disk on s1 did not take effect: sync of s1: still at once": "sync of s1: still at once",
		"no disks here": "no disks here",
	} {
		if got := reason("disk: s1 stall", why); got != want {
			t.Errorf("%q: %q, want %q", why, got, want)
		}
	}
}
