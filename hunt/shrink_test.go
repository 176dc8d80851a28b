package hunt

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/scenarios"
)

// Whatever a bug needs, shrinking ends at a schedule that has it and of which nothing can
// be taken away, and every schedule that it kept on the way had it.
func TestShrink(t *testing.T) {
	on := target(3, 1)
	words := []string{"pause", "kill", "hold", "cut", "clock"}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom(words).Draw(t, "word")
		writes := rapid.IntRange(0, 2).Draw(t, "writes")
		clients := rapid.IntRange(1, 3).Draw(t, "clients")
		needs := both(struck(word, ""), func(s *scenarios.Scenario) bool {
			n := 0
			for _, p := range s.Programs {
				for _, m := range p {
					if m.Do == "write" {
						n++
					}
				}
			}
			return n >= writes && len(s.Clients) >= clients
		})
		m := &model{bugs: []bug{{"granted-early", "x", needs}, {"wrong-release", "", func(s *scenarios.Scenario) bool { return len(s.TriggeredFaults) == 0 }}}}
		h := New(Options{Target: on, Seed: rapid.Uint64().Draw(t, "seed")})
		defer h.stop()
		var s *scenarios.Scenario
		for s == nil || !needs(s) {
			s = h.mutator.random()
		}
		sig := Signature{Anomaly: "granted-early", Cause: "x"}
		k := &shrinker{h: h, runner: m, sig: sig, budget: 1 << 20}
		small, needed := k.shrink(t.Context(), s)
		if !needs(small) || len(small.TriggeredFaults) != 1 || len(small.Clients) > len(s.Clients) {
			t.Fatalf("not what was sought:\n%s", text(small))
		}
		if size(small) > size(s) {
			t.Fatalf("larger:\n%s", text(small))
		}
		for _, e := range edits(small) {
			less := clone(small)
			e.change(less)
			tidy(less)
			if less = h.mutator.whole(less); less != nil && size(less) < size(small) && needs(less) {
				t.Fatalf("%q could be taken away still:\n%s", e.what, text(small))
			}
		}
		if !slices.Contains(needed, small.TriggeredFaults[0].Fault.Text) {
			t.Fatalf("the fault is not said to be needed: %q", needed)
		}
	})
}

// A budget that is over ends it, with what there is.
func TestShrinkBudget(t *testing.T) {
	h := New(Options{Target: target(1, 1), Seed: 3})
	defer h.stop()
	m := &model{bugs: []bug{{"granted-early", "", struck("pause", "")}}}
	s := h.mutator.random()
	for s == nil || !struck("pause", "")(s) {
		s = h.mutator.random()
	}
	k := &shrinker{h: h, runner: m, sig: Signature{Anomaly: "granted-early"}, budget: 20}
	small, _ := k.shrink(t.Context(), s)
	if !struck("pause", "")(small) || len(m.played) > 20+enoughHits {
		t.Errorf("%d runs", len(m.played))
	}
}

// What comes now and then is made as small as what is reproduced reliably, and not to what comes more
// seldom still.
func TestShrinkUnsteady(t *testing.T) {
	const text = "name: mine\nabout: x\nlocks: [model]\nttl: 250ms\nclients:\n  A: acquire, read, write, release\n  B: acquire, read, write, release\nfaults:\n  - when: before A's write\n    pause: A\n  - when: before B's write\n    kill: B\n"
	s, err := scenarios.Parse("s.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		rate   float64
		faults int
		err    error
	}{{0.7, 1, nil}, {0.5, 1, nil}, {0.02, 0, ErrSeldom}} {
		for seed := range uint64(5) {
			m := &model{bugs: []bug{{"granted-early", "", struck("pause", "A")}}, rate: x.rate, rng: rand.New(rand.NewPCG(seed, 1))}
			got, err := Shrink(t.Context(), target(1, 1), m, s, ShrinkOptions{Like: &Signature{Anomaly: "granted-early"}, Budget: 5000, Replays: 50})
			if !errors.Is(err, x.err) {
				t.Errorf("rate %v, seed %d: %v", x.rate, seed, err)
			}
			if err != nil {
				continue
			}
			if got.Faults[1] != x.faults || got.Steps[1] >= got.Steps[0] || got.Rate.hitRate() < x.rate/2 {
				t.Errorf("rate %v, seed %d: %+v\n%s", x.rate, seed, got, got.Schedule)
			}
		}
	}
}

// What is needed for as often as it comes is not left away.
func TestShrinkKeepsTheRate(t *testing.T) {
	s, err := scenarios.Parse("s.yaml", []byte("name: mine\nabout: x\nlocks: [model]\nttl: 250ms\nclients:\n  A: acquire, write\nfaults:\n  - when: before A's write\n    pause: A\n  - when: start\n    clock: redis +5s\n"))
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		m := &model{bugs: []bug{{"granted-early", "", func(s *scenarios.Scenario) bool {
			return struck("pause", "A")(s) && rng.Float64() < 0.6 && (struck("clock", "redis")(s) || rng.Float64() < 0.2)
		}}}}
		h := New(Options{Target: target(1, 1)})
		k := &shrinker{h: h, runner: m, sig: Signature{Anomaly: "granted-early"}, budget: 5000}
		_, err := k.measure(t.Context(), s)
		small, _ := k.shrink(t.Context(), s)
		if h.stop(); err != nil || k.hitRate > 0.9 {
			t.Errorf("seed %d: measured %v, %v", seed, k.hitRate, err)
		}
		if struck("clock", "redis")(small) {
			kept++
		}
	}
	if kept < 18 {
		t.Errorf("what makes it come five times as often was kept %d times of 20", kept)
	}
}

// The test tells what comes nine times in ten from what comes every other time.
func TestSequential(t *testing.T) {
	var accepted func(q sequential, rate float64) float64
	accepted = func(q sequential, rate float64) float64 {
		if q.decided() {
			if q.accepted() {
				return 1
			}
			return 0
		}
		hit, miss := q, q
		hit.take(true)
		miss.take(false)
		return rate*accepted(hit, rate) + (1-rate)*accepted(miss, rate)
	}
	for rate, want := range map[float64][2]float64{0: {0, 0}, 0.3: {0, 0.005}, 0.5: {0, 0.05}, 0.9: {0.85, 1}, 0.99: {0.99, 1}, 1: {1, 1}} {
		if got := accepted(sequential{}, rate); got < want[0] || got > want[1] {
			t.Errorf("a rate of %v is accepted with %.3f, want %v", rate, got, want)
		} else {
			t.Logf("a rate of %v is accepted with %.4f", rate, got)
		}
	}
	// With a share it tells that rate from half of it.
	for _, share := range []float64{0.2, 0.5, 0.9, 1} {
		for rate, want := range map[float64][2]float64{share: {0.88, 1}, share / 2: {0, 0.12}, share / 4: {0, 0.01}} {
			rng, accepted := rand.New(rand.NewPCG(1, 1)), 0
			for range 4000 {
				q := sequential{hitRate: share}
				for !q.decided() {
					q.take(rng.Float64() < rate)
				}
				if q.accepted() {
					accepted++
				}
			}
			if got := float64(accepted) / 4000; got < want[0] || got > want[1] {
				t.Errorf("with a share of %v, a rate of %v is accepted with %.3f, want %v", share, rate, got, want)
			}
		}
	}
}

// The interval against published figures (R. G. Newcombe, Two-sided confidence intervals
// for the single proportion, 1998, table I, method 3).
func TestInterval(t *testing.T) {
	for _, x := range []struct {
		r         Rate
		low, high float64
	}{
		{Rate{Hits: 81, Runs: 263}, 0.2553, 0.3662},
		{Rate{Hits: 15, Runs: 148}, 0.0624, 0.1605},
		{Rate{Hits: 0, Runs: 20}, 0, 0.1611},
		{Rate{Hits: 1, Runs: 29}, 0.0061, 0.1718},
		{Rate{Hits: 20, Runs: 20}, 0.8389, 1},
		{Rate{}, 0, 1},
	} {
		low, high := x.r.Interval()
		if math.Abs(low-x.low) > 0.0001 || math.Abs(high-x.high) > 0.0001 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", x.r.Hits, x.r.Runs, low, high, x.low, x.high)
		}
	}
}

// Shrink finds by itself what a schedule breaks, and says where it breaks nothing.
func TestShrinkSchedule(t *testing.T) {
	on := target(1, 1)
	s, err := scenarios.Parse("s.yaml", []byte("name: mine\nabout: x\nlocks: [model]\nttl: 250ms\nclients:\n  A: acquire, read, write, release\n  B: acquire, read, write, release\nfaults:\n  - when: before A's write\n    pause: A\n  - when: before B's write\n    kill: B\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := &model{bugs: []bug{{"granted-early", "", struck("pause", "A")}}, busy: map[string]int{"": 1}}
	got, err := Shrink(t.Context(), on, m, s, ShrinkOptions{Budget: 1000, Replays: 5})
	if err != nil {
		t.Fatal(err)
	}
	if got.Faults != [2]int{2, 1} || got.Steps[1] >= got.Steps[0] || got.Signature.String() != "granted-early by a pause of a client" {
		t.Errorf("%+v", got)
	}
	if len(got.Without) != 1 || got.Without[0].Name != "pause: A" || got.Without[0].Rate != (Rate{Runs: withoutRuns, Discarded: 1}) { // the first run of a schedule that is new to the model
		t.Errorf("its fault is not confirmed as the cause: %+v", got.Without)
	}
	if small, err := scenarios.Parse("s.yaml", []byte(got.Schedule)); err != nil || small.Name != "mine" || small.Expected("model", "none") == nil {
		t.Errorf("%v\n%s", err, got.Schedule)
	}
	if got.Larger != "" {
		t.Errorf("with runs enough it may not be the least: %s", got.Larger)
	}
	if few, err := Shrink(t.Context(), on, m, s, ShrinkOptions{Budget: 3, Replays: 5}); err != nil || few.Larger != "3 runs were not enough" {
		t.Errorf("after 3 runs: %+v, %v", few, err)
	}
	if _, err := Shrink(t.Context(), on, &model{}, s, ShrinkOptions{Budget: 1000}); !errors.Is(err, ErrHolds) {
		t.Errorf("of what breaks nothing: %v", err)
	}
	never := &model{discarded: func(*scenarios.Scenario) (of, why string, cannot bool) {
		return "pause: A", "no run came to that trigger", false
	}}
	if _, err := Shrink(t.Context(), on, never, s, ShrinkOptions{Budget: 1000}); !errors.Is(err, ErrUntried) || errors.Is(err, ErrHolds) || !strings.Contains(err.Error(), "no run came to that trigger") {
		t.Errorf("of what never went as planned: %v", err)
	}
}

// Of a cause that not every run tells, nothing is left away that it takes to tell it; unless the whole did not tell it
// nearly always, either.
func TestShrinkKeepsTheCause(t *testing.T) {
	s, err := scenarios.Parse("s.yaml", []byte("name: mine\nabout: x\nlocks: [model]\nttl: 250ms\nclients:\n  A: acquire, work 0.5 leases, write, release\n"))
	if err != nil {
		t.Fatal(err)
	}
	works := func(s *scenarios.Scenario) bool {
		return slices.ContainsFunc(s.Programs["A"], func(m scenarios.Move) bool { return m.Do == scenarios.Work })
	}
	for _, tells := range []bool{true, false} {
		n := 0
		precise := func(s *scenarios.Scenario) bool { n++; return works(s) && (tells || n%2 == 0) }
		m := &model{bugs: []bug{{"granted-early", "freed-more", precise}, {"granted-early", "granted-early", func(*scenarios.Scenario) bool { return true }}}}
		got, err := Shrink(t.Context(), target(1, 1), firstOnly{m}, s, ShrinkOptions{Like: &Signature{Anomaly: "granted-early", Cause: "freed-more"}, Budget: 500, Replays: 10})
		if err != nil {
			t.Fatal(err)
		}
		small, err := scenarios.Parse("s.yaml", []byte(got.Schedule))
		if err != nil || works(small) != tells || got.Rate.Hits != 10 {
			t.Errorf("told always: %v: %v, %+v\n%s", tells, err, got.Rate, got.Schedule)
		}
	}
}

// firstOnly is a model of which a run shows only one bug, the first.
type firstOnly struct{ *model }

func (f firstOnly) Run(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
	out, err := f.model.Run(ctx, s)
	if err == nil && len(out.Verdict.Anomalies) > 1 {
		out.Verdict.Anomalies = out.Verdict.Anomalies[:1]
	}
	return out, err
}

// TestKeptAfter: what nearly always shows the signature is kept after half the runs that a counterexample takes.
func TestKeptAfter(t *testing.T) {
	s := parsed(t, "  - when: before A's write\n    pause: A\n  - when: before B's write\n    kill: B\n")
	m := &model{bugs: []bug{{"granted-early", "", struck("pause", "A")}}}
	h := New(Options{Target: target(1, 1)})
	defer h.stop()
	k := &shrinker{h: h, runner: m, sig: Signature{Anomaly: "granted-early"}, budget: 1000}
	small, _ := k.shrink(t.Context(), s)
	last := len(slices.DeleteFunc(slices.Clone(m.played), func(p string) bool { return p != key(small) }))
	if len(small.TriggeredFaults) != 1 || last != keptAfter {
		t.Errorf("%d faults left, kept after %d runs", len(small.TriggeredFaults), last)
	}
}
