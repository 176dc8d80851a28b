package hunt

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/scenarios"
)

func parsed(t *testing.T, faults string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Parse("s.yaml", []byte("name: mine\nabout: x\nlocks: [model]\nttl: 250ms\nclients:\n  A: acquire, read, write, release\n  B: acquire, read, write, release\nfaults:\n"+faults))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Of several schedules the first that shows it steadily is taken; the same anomaly from
// another cause only where none does, and what comes now and then only after that.
func TestRepeats(t *testing.T) {
	pause := parsed(t, "  - when: before A's write\n    pause: A\n")
	kill := parsed(t, "  - when: before A's write\n    kill: A\n")
	cut := parsed(t, "  - when: before A's write\n    cut: A from s1\n")
	all := []*scenarios.Scenario{pause, kill, cut}
	like := Broken{Signature: Signature{Anomaly: "granted-early", Cause: "granted-early"}, Anomaly: "granted-early"}
	other := bug{"granted-early", "wrong-release", struck("cut", "A")}
	only := func(word string, run int) bug {
		n := 0
		return bug{"granted-early", "granted-early", func(s *scenarios.Scenario) bool {
			if struck(word, "A")(s) {
				n++
			}
			return struck(word, "A")(s) && n == run
		}}
	}
	for _, x := range []struct {
		name  string
		bugs  []bug
		place int // -1: never
		cause string
		told  []int
	}{
		{"the first that is steady ends it", []bug{{"granted-early", "granted-early", struck("kill", "")}, other}, 1, "granted-early", []int{0, 8}},
		{"another cause, where the own one never comes", []bug{other}, 2, "wrong-release", []int{0, 0, 0}},
		{"another cause that is steady before the own one that is not", []bug{only("pause", 1), other}, 2, "wrong-release", []int{1, 0, 0}},
		{"what comes now and then", []bug{only("kill", 1)}, 1, "granted-early", []int{0, 1, 0}},
		{"what two runs miss", []bug{only("kill", 5)}, 1, "granted-early", []int{0, 0, 0, 1}},
		{"another anomaly is none of it", []bug{{"wrong-release", "", struck("cut", "A")}}, -1, "", []int{0, 0, 0}},
	} {
		t.Run(x.name, func(t *testing.T) {
			var told []int
			got, err := Repeats(t.Context(), target(1, 1), &model{bugs: x.bugs}, all, like, nil, func(_ int, r Rate) { told = append(told, r.Hits) })
			if x.place < 0 {
				if !errors.Is(err, ErrNever) {
					t.Errorf("got %+v, %v", got, err)
				}
			} else if err != nil || got.Place != x.place || got.Signature.Cause != x.cause || got.Tried != min(len(all), len(told)) {
				t.Errorf("got %+v, %v", got, err)
			}
			if !slices.Equal(told, x.told) {
				t.Errorf("told %v, want %v", told, x.told)
			}
		})
	}
}

// What a run broke is the deepest cause with its anomalies, and stale writes are one.
func TestBrokenBy(t *testing.T) {
	v := verdict.Verdict{Properties: map[string]verdict.Property{
		verdict.Exclusion: {Required: true}, verdict.Register: {Required: true}, verdict.Belief: {},
	}}
	add := func(name, property, cause string, grants ...string) {
		v.Anomalies = append(v.Anomalies, verdict.Anomaly{Name: name, Property: property, Key: "k", Cause: cause, Grants: grants, Time: int64(len(v.Anomalies))})
	}
	add("two-holders", verdict.Belief, "lease-outlived", "a.1", "b.1")
	add("stale-write", verdict.Register, "lease-outlived", "a.1", "b.1")
	add("granted-early", verdict.Exclusion, "granted-early", "a.2", "b.2")
	add("granted-early", verdict.Exclusion, "granted-early", "a.3", "b.3")
	if got, want := fmt.Sprint(BrokenBy(v, nil)), "[{granted-early with no fault injected granted-early [2 3]} {stale-write (after-lease) with no fault injected stale-write [1]}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(BrokenBy(v, []string{"two-holders"})), "[{two-holders (lease-outlived) with no fault injected two-holders [0]}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := BrokenBy(verdict.Verdict{}, nil); got != nil {
		t.Errorf("of a run that held: %v", got)
	}
}

// What was left away at the price of the rate is taken back.
func TestSettle(t *testing.T) {
	whole := parsed(t, "  - when: before A's write\n    pause: A\n  - when: before B's write\n    pause: B\n")
	small := parsed(t, "  - when: before A's write\n    pause: A\n")
	n := 0
	m := &model{bugs: []bug{{"granted-early", "", func(s *scenarios.Scenario) bool {
		n++
		return len(s.TriggeredFaults) == 2 || n%2 == 0
	}}}}
	h := New(Options{Target: target(1, 1)})
	defer h.stop()
	k := &shrinker{h: h, runner: m, sig: Signature{Anomaly: "granted-early"}, budget: 100, acceptedSteps: []string{string(whole.Write())}}
	if s, rate := k.settle(t.Context(), small, 20); len(s.TriggeredFaults) != 2 || rate.Hits != 20 || len(k.acceptedSteps) != 0 {
		t.Errorf("%d of %d:\n%s", rate.Hits, rate.Runs, s.Write())
	}
	k.acceptedSteps = []string{string(small.Write())}
	if s, rate := k.settle(t.Context(), small, 20); rate.Hits != 10 || len(k.acceptedSteps) != 1 {
		t.Errorf("what is no steadier was taken: %d of %d:\n%s", rate.Hits, rate.Runs, s.Write())
	}
}
