package checker

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

// TestHostile: whatever a file holds, Check returns, and the same each time.
func TestHostile(t *testing.T) {
	numbers := []int64{0, 1, 2, 3, 5, 8, -1, math.MaxInt64, math.MinInt64}
	rapid.Check(t, func(t *rapid.T) {
		word := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
		number := func(name string) int64 { return rapid.SampledFrom(numbers).Draw(t, name) }
		var in Input
		for i := range rapid.IntRange(0, 25).Draw(t, "events") {
			e := history.Event{
				Index: int64(i), Time: max(0, number("time")),
				Process: word("process", "c1", "c2", "nemesis"),
				Type:    history.Type(word("type", "invoke", "ok", "ok", "fail", "info")),
				F:       word("f", "acquire", "acquire", "release", "renew", "lost", "read", "write", "add", "kill", "?"),
				Key:     word("key", "", "k", "l"), Grant: word("grant", "", "a", "b", "c"),
				Value: word("value", "", "x", "y"), Token: number("token"),
				Since: number("since"), Lease: number("lease"), Held: rapid.Bool().Draw(t, "held"),
				Phase: word("phase", "", "begin", "end"), Confirmed: rapid.Bool().Draw(t, "confirmed"),
			}
			if e.Value == "" && (e.F == history.Write || e.F == history.Add) {
				e.Value = "z" // one without a value is refused when a file is read
			}
			if rapid.Bool().Draw(t, "hits") {
				e.Nodes = []string{"c1"}
			}
			in.Events = append(in.Events, e)
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "effects") {
			in.Effects = append(in.Effects, history.Effect{
				Seq: int64(i + 1), Time: number("time"), Process: word("process", "c1", "c2"), F: word("f", "read", "write", "add"),
				Key: word("key", "", "k", "l"), Grant: word("grant", "", "a", "b"), Value: word("value", "", "x", "y"),
				Parent: word("parent", "", "x", "z"), Token: number("token"), Error: word("error", "", "", "no"),
			})
		}
		in.Options.Bound = number("bound")
		a, err := json.Marshal(Check(in))
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := json.Marshal(Check(in)); string(a) != string(b) {
			t.Fatalf("two verdicts:\n%s\n%s", a, b)
		}
		if strings.Contains(string(a), "CONTRADICTS") {
			t.Fatalf("%s", a)
		}
		l := NewLive()
		for _, e := range in.Events {
			l.Observe(e)
		}
	})
}
