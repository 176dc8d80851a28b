package checker

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

// TestLostAdds compares the lost updates of the add workload with sets kept
// literally: every add's set is its parent's and itself.
func TestLostAdds(t *testing.T) {
	lostAny := 0
	rapid.Check(t, func(t *rapid.T) {
		var in Input
		n := rapid.IntRange(1, 12).Draw(t, "adds")
		sets := map[string][]string{"": nil}
		values := []string{""}
		acked := []string{}
		add := func(e history.Event) {
			e.Index, e.Time, e.Key = int64(len(in.Events)), int64(len(in.Events)), "k"
			in.Events = append(in.Events, e)
		}
		for i := range n {
			p, v := fmt.Sprintf("c%d", i), fmt.Sprintf("v%d", i)
			parent := values[max(0, len(values)-rapid.IntRange(1, 4).Draw(t, "behind"))]
			base := history.Event{Process: p, Grant: p + ".1", Type: history.Invoke}
			e := base
			e.F = history.Acquire
			e.Grant = ""
			add(e)
			e = base
			e.F, e.Type = history.Acquire, history.OK
			add(e)
			e = base
			e.F, e.Value = history.Add, v
			add(e)
			if rapid.IntRange(0, 3).Draw(t, "answered") > 0 {
				e.Type = history.OK
				add(e)
				acked = append(acked, v)
			}
			in.Effects = append(in.Effects, history.Effect{Seq: int64(i + 1), Time: int64(len(in.Events)), Process: p, F: history.Add, Key: "k", Grant: p + ".1", Value: v, Parent: parent})
			sets[v] = append(slices.Clone(sets[parent]), v)
			values = append(values, v)
		}
		final := sets[values[len(values)-1]]
		want := map[string]int64{} // victim to the first add without it
		for _, v := range acked {
			if slices.Contains(final, v) {
				continue
			}
			seen := false
			for i, later := range values {
				seen = seen || later == v
				if seen && !slices.Contains(sets[later], v) {
					want[v] = int64(i)
					break
				}
			}
		}
		v := Check(in)
		got := map[string]int64{}
		for _, a := range named(v, "lost-update") {
			for _, victim := range a.Victims {
				got[values[victim]] = a.Effects[1]
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || v.Stats.LostUpdates != len(want) || v.Stats.Acknowledged != len(acked) {
			t.Fatalf("lost %v (%d of %d), by the sets %v of %d", got, v.Stats.LostUpdates, v.Stats.Acknowledged, want, len(acked))
		}
		lostAny += len(want)
	})
	if lostAny == 0 && !testing.Short() {
		t.Error("nothing was ever lost")
	}
}
