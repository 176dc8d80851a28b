package results

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
)

// A picture of a run with two keys says of each hold which key it is of; with one key it says nothing of it.
func TestPictureOfKeys(t *testing.T) {
	for _, second := range []string{"k0", "k00"} {
		var events []history.Event
		for i, c := range []string{"A", "B"} {
			key := []string{"k0", second}[i]
			for at, e := range map[int64]history.Event{10: {Type: history.Invoke, F: history.Acquire}, 20: {Type: history.OK, F: history.Acquire, Grant: c + ".1"}, 90: {Type: history.Invoke, F: history.Release, Grant: c + ".1"}} {
				e.Process, e.Key, e.Time = c, key, at*ms
				events = append(events, e)
			}
		}
		slices.SortFunc(events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
		for i := range events {
			events[i].Index = int64(i)
		}
		svg, _ := AnomalySVG(Run{}, checker.Anomaly{Name: "granted-early", Key: "k0", Time: 20 * ms, Grants: []string{"A.1"}}, events)
		for _, want := range []string{"A holds A.1 of key k0<", "B holds B.1 of key k00<", ">key k00 · B.1<"} {
			if strings.Contains(string(svg), want) != (second == "k00") {
				t.Errorf("%s: %q is there: %v", second, want, second != "k00")
			}
		}
	}
}
