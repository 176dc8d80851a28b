package hunt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/scenarios"
)

// What comes now and then in every schedule is one counterexample, and takes no fault. What a fault makes likely stays
// beside it, and so does what is something else.
func TestByChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	// In one of so many runs, and in one of the first: those have no fault.
	now := func(every int) func(*scenarios.Scenario) bool {
		n := 0
		return func(*scenarios.Scenario) bool { n++; return n%every == every/2 }
	}
	with := func(word string, part float64) func(*scenarios.Scenario) bool {
		return func(s *scenarios.Scenario) bool {
			return len(s.TriggeredFaults) > 0 && s.TriggeredFaults[0].Fault.Word == word && rng.Float64() < part
		}
	}
	faulty := func(comes func(*scenarios.Scenario) bool) func(*scenarios.Scenario) bool {
		return func(s *scenarios.Scenario) bool { return len(s.TriggeredFaults) > 0 && comes(s) }
	}
	for _, c := range []struct {
		name string
		bugs []bug
		want []string // what crashes do
	}{
		{"a race", []bug{{"granted-early", "granted-early", now(3)}}, nil},
		{"a race, and what a crash does", []bug{{"granted-early", "granted-early", now(19)}, {"granted-early", "granted-early", with("kill", 1)}}, []string{"granted-early"}},
		{"a race, and a hazard in a third of all schedules with a fault", []bug{{"granted-early", "granted-early", now(3)}, {"stale-write", AfterLease, faulty(now(3))}}, nil},
		{"a race, and a hazard by a crash", []bug{{"granted-early", "granted-early", now(19)}, {"stale-write", AfterLease, with("kill", 1)}}, []string{"stale-write"}},
		{"a race, and another anomaly", []bug{{"granted-early", "granted-early", now(3)}, {"deadlock", "", with("kill", 1)}}, []string{"deadlock"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, _ := search(t, &model{bugs: c.bugs}, Options{Target: target(1, 1, "pause", "kill", "clock"), Depth: 1}, 1)
			found := len(h.counterexamples)
			h.byChance()
			faultless := 0
			for _, w := range h.counterexamples {
				switch {
				case w.Faults == 0:
					if faultless++; w.Once() != "" {
						t.Errorf("%s: %s, and it came with %v", w, w.Once(), w.ByChance)
					}
				case !slices.Contains(c.want, w.Anomaly) || !strings.Contains(w.Takes(), "crash"):
					t.Errorf("%s, in %d of %d runs, is left of %d", w, w.Search.Hits, w.Search.Runs, found)
				}
			}
			crashes := slices.ContainsFunc(h.counterexamples, func(w *Counterexample) bool { return w.Faults > 0 })
			if faultless != 1 || crashes != (c.want != nil) || found < 3 {
				t.Errorf("of %d are left %v", found, h.counterexamples)
			}
		})
	}
}

// What came with several faults and with none of them often is run without any. If it comes there, too, no fault is
// named for it; else all are.
func TestSeekFaultless(t *testing.T) {
	for _, c := range []struct {
		name   string
		always bool // without a fault, too
		often  bool // each time with a crash
	}{
		{"a race that no run without a fault showed at first", true, false},
		{"only with faults, and seldom", false, false},
		{"seldom, and always with a crash", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, searching := 0, true
			seldom := func(s *scenarios.Scenario) bool {
				if len(s.TriggeredFaults) == 0 && (searching || !c.always) {
					return false
				}
				n++
				return n%19 == 9 || c.often && len(s.TriggeredFaults) > 0 && s.TriggeredFaults[0].Fault.Word == "kill"
			}
			m := &model{bugs: []bug{{"granted-early", "granted-early", seldom}}}
			h, _ := search(t, m, Options{Target: target(1, 1, "pause", "kill", "clock"), Depth: 1}, 1)
			found := len(h.counterexamples)
			searching = false
			h.seekFaultless(t.Context(), newTeam([]Runner{m}), FinishOptions{})
			h.byChance()
			faultless := slices.ContainsFunc(h.counterexamples, func(w *Counterexample) bool { return w.Faults == 0 })
			crash := slices.ContainsFunc(h.counterexamples, func(w *Counterexample) bool { return strings.Contains(w.Takes(), "crash") })
			if found < 3 || faultless != c.always || crash != (c.often || !c.always) || !c.always && len(h.counterexamples) != found {
				t.Errorf("of %d are left %v", found, h.counterexamples)
			}
		})
	}
}

// TestWithoutFaults: a program in which the lock breaks more often than in others breaks it as often beside a fault, whatever
// the record makes of it. What only the fault makes frequent stays, and so does another anomaly.
func TestWithoutFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		every int // without a fault the lock breaks in one of so many runs
		other string
		want  int
	}{
		{"as often", 1, "double-grant", 1},
		{"seldom", 12, "double-grant", 2},
		{"another anomaly", 1, "deadlock", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			m := &model{bugs: []bug{{"granted-early", "granted-early", func(s *scenarios.Scenario) bool { n++; return len(s.TriggeredFaults) == 0 && n%c.every == 0 }}}}
			h := New(Options{Target: target(1, 1, "kill")})
			defer h.stop()
			h.judged, h.showed = 400, map[string]int{"exclusion": 20, "deadlock|": 20}
			always := Rate{Hits: 4, Runs: 4}
			h.counterexamples = []*Counterexample{
				{Signature: Signature{Anomaly: "granted-early", Cause: "granted-early"}, Schedule: string(parsed(t, "  []\n").Write()), Search: always},
				{Signature: Signature{Anomaly: c.other, Kinds: []string{"a crash of a client"}}, Faults: 1, Search: always,
					Schedule: string(parsed(t, "  - when: before A's write\n    kill: A\n").Write())},
			}
			h.withoutFaults(t.Context(), newTeam([]Runner{m}), FinishOptions{})
			if h.byChance(); len(h.counterexamples) != c.want {
				t.Errorf("%v are left", h.counterexamples)
			}
		})
	}
}

// The run in which it was found says nothing; the others are compared with the binomial distribution.
func TestBeyond(t *testing.T) {
	for _, c := range []struct {
		r    Rate
		part float64
		want float64
	}{
		{Rate{Hits: 1, Runs: 1}, 0.1, 1},
		{Rate{Hits: 1, Runs: 5}, 0.1, 1},
		{Rate{Hits: 2, Runs: 2}, 0.1, 0.1},
		{Rate{Hits: 2, Runs: 3}, 0.1, 0.19},
		{Rate{Hits: 4, Runs: 4}, 0.5, 0.125},
		{Rate{Hits: 4, Runs: 5}, 0, 0},
		{Rate{Hits: 3, Runs: 3}, 1, 1},
	} {
		if got := c.r.beyond(c.part); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v at %v: %v, want %v", c.r, c.part, got, c.want)
		}
	}
}

// TestHazardByChance: a lease hazard that came once is put under a bug without a fault only if two clients had the lock at once.
func TestHazardByChance(t *testing.T) {
	for anomaly, want := range map[string]int{"granted-early": 1, "double-grant": 1, "deadlock": 2, "revoked-early": 2} {
		h := &Search{judged: 50, showed: map[string]int{}}
		hazard := &Counterexample{Signature: leaseHazard, Faults: 1, Search: Rate{Hits: 1, Runs: 4}}
		hazard.Kinds = []string{"a slow link of a client"}
		h.counterexamples = []*Counterexample{{Signature: Signature{Anomaly: anomaly}, Search: Rate{Hits: 4, Runs: 7}}, hazard}
		h.byChance()
		if len(h.counterexamples) != want {
			t.Errorf("%s: %d are left, want %d", anomaly, len(h.counterexamples), want)
		}
		if with := h.counterexamples[0].HazardsByChance; (len(with) == 1) != (want == 1) || len(h.counterexamples[0].ByChance) > 0 {
			t.Errorf("%s: hazards with %q", anomaly, with)
		}
	}
}
