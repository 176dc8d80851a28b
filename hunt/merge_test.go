package hunt

import (
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
)

// TestMerge: three shards of a hunt find what the whole finds, run as many schedules, and say
// the same of how far was looked.
func TestMerge(t *testing.T) {
	m := func() *model {
		return &model{bugs: []bug{
			{"granted-early", "clock", struck("pause", "A")},
			{"stale-write", "renewed-late", struck("hold", "")},
		}}
	}
	o := Options{Target: target(1, 1), Strategy: Exhaustive, Depth: 1, Seed: 1}
	all := portions(t, m, o, Part{First: 2, Step: 3}, Part{First: 0, Step: 3}, Part{First: 1, Step: 3})
	for i, p := range []string{"3/3", "1/3", "2/3"} {
		all[i].Result.Command = []string{"picklock", "hunt", "--lock", "x", "--shard", p, "--ttl", "1s", "--seed", p}
	}
	got, err := Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	_, want := search(t, m(), o, 2)
	names := func(r *Result) []string {
		var out []string
		for _, w := range r.Counterexamples {
			out = append(out, w.String())
		}
		return slices.Sorted(slices.Values(out))
	}
	if !slices.Equal(names(got), names(want)) {
		t.Errorf("the shards found %v, the whole %v", names(got), names(want))
	}
	if !slices.Equal(got.Depths, want.Depths) {
		t.Errorf("the shards run %v, the whole %v", got.Depths, want.Depths)
	}
	if command := strings.Join(got.Command, " "); strings.Contains(command, "--shard") || !strings.Contains(command, "--lock x --ttl 1s") {
		t.Errorf("the command of the whole is %q", command)
	}
}

// What two shards know to need the same act is one bug.
func TestMergeGroups(t *testing.T) {
	o := Options{Target: target(1, 1), Strategy: Exhaustive, Depth: 0}
	all := portions(t, func() *model { return &model{} }, o, Part{First: 0, Step: 2}, Part{First: 1, Step: 2})
	found := func(anomaly, kind string, acts ...Act) []*Counterexample {
		return []*Counterexample{{Signature: Signature{Anomaly: anomaly, Kinds: []string{kind}}, Acts: acts, Search: Rate{Hits: 4, Runs: 4}}}
	}
	act := Act{Client: "A", Do: history.Release, Nth: 1, Without: Rate{Runs: withoutActRuns}}
	all[0].Result.Counterexamples = found("granted-early", "one slow request", act)
	all[1].Result.Counterexamples = append(found("wrong-release", "a pause of a client", act), found("granted-early", "a wrong clock of a server")...)
	got, err := Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	if names := counterexampleNames(got); !slices.Equal(names, []string{"granted-early by a wrong clock of a server", "wrong-release by a pause of a client"}) {
		t.Errorf("%q", names)
	}
	for _, w := range got.Counterexamples {
		if want := map[string]int{"wrong-release": 1}[w.Anomaly]; len(w.Variants) != want {
			t.Errorf("%s has %d variants, want %d", w, len(w.Variants), want)
		}
	}
}

// Merge counts unfinished counterexamples over all shards, lists each infeasible fault once, and keeps the variants of counterexamples that
// two shards found.
func TestMergeKeeps(t *testing.T) {
	on := target(1, 1, "pause", "failover")
	on.Unable = map[string]string{"failover": "there is nobody to take over"}
	o := Options{Target: on, Strategy: Exhaustive, Depth: 0}
	all := portions(t, func() *model { return &model{} }, o, Part{First: 0, Step: 2}, Part{First: 1, Step: 2})
	found := func(anomaly string, variants ...*Counterexample) *Counterexample {
		return &Counterexample{Signature: Signature{Anomaly: anomaly, Kinds: []string{"a pause of a client"}}, Search: Rate{Hits: 4, Runs: 4}, Larger: timeOver, Variants: variants}
	}
	for i := range all {
		all[i].Result.Counterexamples = []*Counterexample{found("granted-early", found("wrong-release"))}
		all[i].Result.Unfinished = []string{"1 of 1 counterexample may not be the least"}
	}
	all[1].Result.Counterexamples = append(all[1].Result.Counterexamples, found("token-reuse"))
	got, err := Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"2 of 2 counterexamples may not be the least"}; !slices.Equal(got.Unfinished, want) {
		t.Errorf("unfinished: %q, want %q", got.Unfinished, want)
	}
	if want := []string{"failover: there is nobody to take over"}; !slices.Equal(got.Infeasible, want) {
		t.Errorf("infeasible: %q, want %q", got.Infeasible, want)
	}
	if w := got.Counterexamples[slices.IndexFunc(got.Counterexamples, func(w *Counterexample) bool { return w.Anomaly == "granted-early" })]; len(w.Variants) != 2 {
		t.Errorf("%s has %d variants", w, len(w.Variants))
	}
}

func TestMergeRefuses(t *testing.T) {
	o := Options{Target: target(1, 1), Strategy: Exhaustive, Depth: 0}
	m := func() *model { return &model{} }
	one := portions(t, m, o, Part{First: 0, Step: 2})[0]
	for name, change := range map[string]func(r *Result){
		"lock":    func(r *Result) { r.Lock = "other" },
		"fencing": func(r *Result) { r.Fencing = "write" },
		"depth":   func(r *Result) { r.Depths = append(r.Depths, Depth{Faults: 1}) },
		"command": func(r *Result) { r.Command = []string{"picklock", "hunt", "--find", "stale-write"} },
	} {
		other := portions(t, m, o, Part{First: 1, Step: 2})[0]
		change(&other.Result)
		if _, err := Merge([]Portion{one, other}); err == nil {
			t.Errorf("another %s was taken for the same hunt", name)
		}
	}
	if _, err := Merge(nil); err == nil {
		t.Error("nothing was put together without an error")
	}
}
