package hunt

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// releases says that a client releases the lock in the schedule.
func releases(s *scenarios.Scenario) bool {
	return slices.ContainsFunc(s.Programs["A"], func(m scenarios.Move) bool { return m.Do == history.Release })
}

// A lock that deletes anybody's key breaks by whatever makes A's release come late: one bug, with
// the least schedule first and the others under it.
func TestOneBugOneCounterexample(t *testing.T) {
	m := &model{bugs: []bug{
		{"wrong-release", "", both(releases, struck("pause", "A"))},
		{"wrong-release", "", both(releases, struck("kill", "redis"))},
		{"wrong-release", "", both(releases, struck("hold", "A"))},
		{"granted-early", "", struck("pause", "A")},
	}}
	h, _ := search(t, m, Options{Target: target(1, 1, "pause:client", "kill:server", "hold:client"), Depth: 1}, 2)
	if err := h.Finish(t.Context(), []Runner{m, m}, FinishOptions{Replays: 5, Time: time.Minute}); err != nil {
		t.Fatal(err)
	}
	var of []string
	for _, w := range h.result.Counterexamples {
		of = append(of, w.Anomaly)
		if w.Anomaly != "wrong-release" {
			if len(w.Variants) > 0 {
				t.Errorf("%s has variants: its schedules need no act that others need", w)
			}
			continue
		}
		kinds := []string{w.Takes()}
		for _, v := range w.Variants {
			kinds = append(kinds, v.Takes())
			if v.Faults < w.Faults || v.Faults == w.Faults && v.Steps < w.Steps || !strings.HasPrefix(v.Name, w.Name+"-variant-") || !strings.Contains(v.Schedule, "name: "+v.Name+"\n") {
				t.Errorf("the variant %s (%s): %d faults, %d steps; of %s: %d, %d", v.Name, v, v.Faults, v.Steps, w.Name, w.Faults, w.Steps)
			}
		}
		for _, want := range []string{"a pause of a client", "a crash of a server", "one slow request"} {
			if !slices.Contains(kinds, want) {
				t.Errorf("no variant by %s among %q", want, kinds)
			}
		}
	}
	slices.Sort(of)
	if !slices.Equal(of, []string{"granted-early", "granted-early", "wrong-release"}) {
		t.Errorf("%q", of)
	}
}

func TestSameBug(t *testing.T) {
	on := target(1, 1)
	of := func(anomaly, program string) *Counterexample {
		w := workload{name: "w", programs: []scenarios.Program{scenarios.MustProgram(program, clientNames), scenarios.MustProgram("acquire, write", clientNames)}}
		return &Counterexample{Signature: Signature{Anomaly: anomaly}, Name: "x", Schedule: string(on.schedule(w).Write()), Search: Rate{Hits: 4, Runs: 4}}
	}
	larger := of("wrong-release", "acquire, release")
	larger.Larger = timeOver
	seldom := of("wrong-release", "acquire, release")
	seldom.Search.Hits = 1
	for name, c := range map[string]struct {
		a, b *Counterexample
		want bool
	}{
		"the same act":              {of("wrong-release", "acquire, release"), of("wrong-release", "acquire, write, release"), true},
		"another anomaly":           {of("wrong-release", "acquire, release"), of("granted-early", "acquire, release"), false},
		"another act":               {of("wrong-release", "acquire, release"), of("wrong-release", "acquire, renew"), false},
		"no act that it needs":      {of("granted-early", "acquire, write"), of("granted-early", "acquire, write"), false},
		"one that may not be least": {of("wrong-release", "acquire, release"), larger, false},
		"one that is intermittent":  {of("wrong-release", "acquire, release"), seldom, false},
	} {
		if got := c.a.sameBug(c.b); got != c.want || c.b.sameBug(c.a) != got {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A violation that never came again names what ran before it on the same testbed.
func TestOnceNamesWhatRanBefore(t *testing.T) {
	last := ""
	var first string
	m := &model{bugs: []bug{{"granted-early", "", func(s *scenarios.Scenario) bool {
		hit := first == "" && struck("kill", "A")(s) && strings.Contains(last, "pause: A")
		if hit {
			first = last
		}
		last = text(s)
		return hit
	}}}}
	_, r := search(t, m, Options{Target: target(1, 1, "pause:client", "kill:client"), Depth: 1}, 1)
	if len(r.Counterexamples) != 1 || first == "" {
		t.Fatalf("%d counterexamples", len(r.Counterexamples))
	}
	if w := r.Counterexamples[0]; !strings.HasPrefix(w.Once(), "a schedule with pause: A when ") {
		t.Errorf("after %q, once %q", w.After, w.Once())
	}
	again := &Counterexample{Search: Rate{Hits: 2, Runs: 4}, After: "x"}
	if again.Once() != "" {
		t.Errorf("came twice: %q", again.Once())
	}
}
