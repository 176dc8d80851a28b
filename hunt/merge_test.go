package hunt

import (
	"slices"
	"strings"
	"testing"
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
