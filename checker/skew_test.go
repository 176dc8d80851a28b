package checker

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
)

// drawSkewed draws a small history of processes on several machines: locks of each kind,
// with leases, tokens, renewals and losses or without, reads and writes, faults.
func drawSkewed(t *rapid.T) []history.Event {
	draw := func(name string, n int64) int64 { return rapid.Int64Range(0, n).Draw(t, name) }
	kind := rapid.SampledFrom([]string{"mutex", "mutex", "mutex", "rw", "semaphore", "reentrant"}).Draw(t, "kind")
	leases := rapid.Bool().Draw(t, "leases")
	tokens := rapid.Bool().Draw(t, "tokens")
	spread := rapid.SampledFrom([]int64{2, 6, 20}).Draw(t, "spread")
	machines := rapid.IntRange(1, 3).Draw(t, "machines")
	var ev []history.Event
	token, next := int64(0), 2*spread
	for p := range rapid.IntRange(2, 4).Draw(t, "processes") {
		process, machine := fmt.Sprintf("c%d", p+1), ""
		if rapid.IntRange(0, 3).Draw(t, "named") > 0 {
			machine = fmt.Sprintf("m%d", p%machines)
		}
		at := next
		orderly := kind == "mutex" && rapid.IntRange(0, 2).Draw(t, "orderly") > 0
		if orderly { // asks while the one before holds it, and is granted it after that
			at -= draw("asks early", 2*spread)
		}
		add := func(e history.Event) {
			e.Time, e.Process, e.Key, e.Machine = at, process, "k", machine
			ev = append(ev, e)
		}
		for n := range rapid.IntRange(1, 2).Draw(t, "holds") {
			at += draw("idle", spread)
			e := history.Event{Type: history.Invoke, F: history.Acquire}
			switch {
			case kind == "semaphore":
				e.Permits = 2
			case kind == "rw" && rapid.Bool().Draw(t, "shares"):
				e.Mode = history.Shared
			}
			add(e)
			since := at
			at += draw("wait", spread)
			if orderly {
				at = max(at, next+draw("handed over", spread))
			}
			if rapid.IntRange(0, 5).Draw(t, "outcome") == 0 {
				e.Type = rapid.SampledFrom([]history.Type{history.Fail, history.Info}).Draw(t, "refused")
				add(e)
				at++
				continue
			}
			grant := fmt.Sprintf("%s.%d", process, n+1)
			e.Type, e.Grant = history.OK, grant
			if leases {
				e.Since, e.Lease = since, 1+draw("lease", 3*spread)
			}
			if tokens {
				token++
				e.Token = token
				if rapid.IntRange(0, 5).Draw(t, "odd") == 0 {
					e.Token = 1 + draw("token", 5)
				}
			}
			add(e)
			e = history.Event{Grant: grant}
			for i := range rapid.IntRange(0, 2).Draw(t, "operations") {
				at += draw("before", spread)
				e.F = rapid.SampledFrom([]string{history.Read, history.Write, history.Renew, history.Lost}).Draw(t, "f")
				if e.F == history.Lost {
					e.Type = history.Info
					add(e)
					continue
				}
				e.Type, e.Value = history.Invoke, ""
				if e.F == history.Write {
					e.Value = fmt.Sprintf("%s.%d", grant, i)
				}
				add(e)
				asked := at
				at += draw("takes", spread)
				done := e
				done.Type = rapid.SampledFrom([]history.Type{history.OK, history.OK, history.Fail}).Draw(t, "done")
				switch {
				case e.F == history.Read && done.Type == history.OK:
					done.Value = rapid.SampledFrom([]string{"", "c1.1.0", "c2.1.0"}).Draw(t, "read")
				case e.F == history.Renew && done.Type == history.OK && leases:
					done.Since, done.Lease, done.Held = asked, 1+draw("more", 3*spread), rapid.Bool().Draw(t, "held")
				}
				add(done)
			}
			at += draw("hold", spread)
			if rapid.IntRange(0, 4).Draw(t, "forgets") > 0 {
				e.F, e.Type, e.Value = history.Release, history.Invoke, ""
				add(e)
				at += draw("back", spread)
				e.Type, e.Held = history.OK, rapid.Bool().Draw(t, "was held")
				add(e)
			}
			at += draw("rest", 1)
			if orderly {
				next = at
			}
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "faults") == 0 {
		at := draw("begins", 4*spread)
		f := history.Event{
			Process: history.Nemesis, Type: history.Info, F: rapid.SampledFrom([]string{"pause", "kill", "partition"}).Draw(t, "fault"),
			Nodes: []string{rapid.SampledFrom([]string{"c1", "c2", "s1"}).Draw(t, "hit")}, Phase: history.Begin, Confirmed: true, Time: at,
		}
		ev = append(ev, f)
		f.Phase, f.Confirmed, f.Time = history.End, false, at+draw("lasts", spread)
		ev = append(ev, f)
	}
	slices.SortStableFunc(ev, func(a, b history.Event) int { return int(a.Time - b.Time) })
	for i := range ev {
		ev[i].Index = int64(i)
	}
	return ev
}

// clockOf says whose clock an event's times are of.
func clockOf(e history.Event) string {
	if e.Machine != "" {
		return "machine " + e.Machine
	}
	return "process " + e.Process
}

// shifted is a history with the clock of each machine set forward by so much.
func shifted(events []history.Event, by map[string]int64) []history.Event {
	out := slices.Clone(events)
	for i := range out {
		d := by[clockOf(out[i])]
		out[i].Time += d
		if out[i].Lease > 0 {
			out[i].Since += d
		}
	}
	return out
}

// everyShift calls f with each way to shift the clocks that leaves none further from
// another than skew.
func everyShift(events []history.Event, skew int64, f func(by map[string]int64)) {
	var clocks []string
	for _, e := range events {
		if c := clockOf(e); !slices.Contains(clocks, c) {
			clocks = append(clocks, c)
		}
	}
	by := map[string]int64{}
	var set func(i int)
	set = func(i int) {
		if i == len(clocks) {
			f(by)
			return
		}
		for d := range skew + 1 {
			by[clocks[i]] = d
			set(i + 1)
		}
	}
	set(0)
}

// TestSkewAgainstEveryShift: what is said of clocks that are apart holds however they are
// shifted; nothing passes.
func TestSkewAgainstEveryShift(t *testing.T) {
	said := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		events := drawSkewed(rt)
		skew := rapid.Int64Range(1, 3).Draw(rt, "skew")
		opt := Options{Bound: rapid.SampledFrom([]int64{0, 0, 20}).Draw(rt, "bound"), SkipCrossCheck: true}
		if rapid.Bool().Draw(rt, "belief") {
			opt.Require = []string{Belief}
		}
		opt.Fair = rapid.SampledFrom([]int64{0, 0, 0, 10}).Draw(rt, "fair")
		apart := opt
		apart.Skew = skew
		got := Check(Input{Events: events, Options: apart})
		for name, p := range got.Properties {
			said[name+" "+p.Valid.String()]++
			if p.Valid == True || got.Valid == True || got.Promises == True {
				rt.Fatalf("%s is %v, the verdict %v, that on the promises %v with clocks that are apart", name, p.Valid, got.Valid, got.Promises)
			}
		}
		said["all "+got.Valid.String()]++
		agree, want := map[string]bool{}, map[string]Validity{}
		everyShift(events, skew, func(by map[string]int64) {
			v := Check(Input{Events: shifted(events, by), Options: opt})
			compare := func(name string, says, is Validity) {
				if says != Unknown && says != is {
					rt.Fatalf("%s is said to be %v, and is %v with the clocks %v (skew %d): %s\n%s\n%s", name, says, is, by, skew, got.Properties[name].Why, v.Properties[name].Why, dump(world{in: Input{Events: events}}))
				}
				if w, seen := want[name]; !seen {
					want[name], agree[name] = is, true
				} else if w != is {
					agree[name] = false
				}
			}
			for _, name := range Properties {
				compare(name, got.Properties[name].Valid, v.Properties[name].Valid)
			}
			compare("all", got.Valid, v.Valid)
		})
		for name, all := range agree {
			if all {
				said[name+" "+want[name].String()+" under every shift"]++
			}
		}
	})
	for _, name := range append([]string{"all"}, Properties...) {
		t.Logf("%-9s false %d of %d, unknown %d", name, said[name+" false"], said[name+" false under every shift"], said[name+" unknown"])
	}
}

// TestSkewWithLog: the register's log orders what was done to it, whatever the clocks say;
// shifts that contradict it were not the clocks'.
func TestSkewWithLog(t *testing.T) {
	said := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		tokens := rapid.Bool().Draw(rt, "tokens")
		w := simulate(rt, rapid.Bool().Draw(rt, "sound"), tokens, tokens && rapid.Bool().Draw(rt, "fencing"), rapid.Bool().Draw(rt, "leases"))
		machines := rapid.IntRange(1, 3).Draw(rt, "machines")
		for i := range w.in.Events {
			n := int(w.in.Events[i].Process[1])
			w.in.Events[i].Machine = fmt.Sprintf("m%d", n%machines)
		}
		skew := rapid.Int64Range(1, 40).Draw(rt, "skew")
		w.in.Options.SkipCrossCheck = true
		in := w.in
		in.Options.Skew = skew
		got := Check(in)
		said[got.Properties[Register].Valid.String()]++
		for range 12 {
			by := map[string]int64{}
			for m := range machines {
				by[fmt.Sprintf("machine m%d", m)] = rapid.Int64Range(0, skew).Draw(rt, "shift")
			}
			in := w.in
			in.Events = shifted(w.in.Events, by)
			v := Check(in)
			if slices.ContainsFunc(v.Anomalies, func(a Anomaly) bool { return a.Name == "nonlinearizable" && a.Cause == "order" }) {
				continue
			}
			for _, name := range Properties {
				if says, is := got.Properties[name].Valid, v.Properties[name].Valid; says != Unknown && says != is {
					rt.Fatalf("%s is said to be %v, and is %v with the clocks %v (skew %d): %s\n%v\n%s", name, says, is, by, skew, got.Properties[name].Why, v.Anomalies, dump(w))
				}
			}
		}
	})
	t.Logf("register: %v", said)
	if !testing.Short() && said["false"] == 0 || said["true"] > 0 {
		t.Error("nothing was said, or that the register holds")
	}
}

// TestSkewOfOneMachine: no skew explains what happened between processes of one machine, whether
// or not others used the lock as well; it does once one of them is on another.
func TestSkewOfOneMachine(t *testing.T) {
	const stranger = "\n9-9.1 c9 acquire !held"
	for _, tt := range []struct {
		anomaly, file, more, away string
		skew                      int64
		want                      bool
	}{
		{"double-grant", "double-grant", "", "", 1e8, true},
		{"double-grant", "double-grant", "", "c2", 1e8, false},
		{"granted-early", "granted-early", stranger, "c9", 1e10, true},
		{"granted-early", "granted-early", stranger, "c2", 1e10, false},
		{"token-regression", "token-regression", stranger, "c9", 1e10, true},
		{"token-regression", "token-regression", stranger, "c2", 1e10, false},
		{"two-holders", "double-grant", stranger, "c9", 1e8, true},
		{"two-holders", "double-grant", stranger, "c9", 1e10, false}, // by another clock, the history may have ended before
		{"two-holders", "double-grant", stranger, "c2", 1e8, false},
	} {
		text, err := os.ReadFile("testdata/" + tt.file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		in := script(t, string(text)+tt.more)
		for i := range in.Events {
			if in.Events[i].Machine = "m"; in.Events[i].Process == tt.away {
				in.Events[i].Machine = "away"
			}
		}
		in.Options.Skew = tt.skew
		got := found(Check(in))
		if slices.ContainsFunc(got, func(a string) bool { return strings.HasPrefix(a, tt.anomaly) }) != tt.want {
			t.Errorf("%s of %s%s with %q away: %v", tt.anomaly, tt.file, tt.more, tt.away, got)
		}
		p := Check(in).Properties[verdict.Info(tt.anomaly).Property]
		want := map[bool]string{true: "cannot explain; by the times as they are", false: "which clocks that are up to"}[tt.want]
		if (p.Valid == False) != tt.want || !strings.Contains(p.Why, want) {
			t.Errorf("%s of %s%s with %q away is %v: %s", tt.anomaly, tt.file, tt.more, tt.away, p.Valid, p.Why)
		}
	}
}

// TestSkewSaysWhy: what is unknown with a skew says what leaves it open.
func TestSkewSaysWhy(t *testing.T) {
	const kept = `
0.1-0.2 c1 acquire c1.1 lease=1 token=1
0.15-0.9 c2 acquire c2.1 lease=1 token=2 since=0.85
0.3-0.4 c1 read c1.1 @0.35
0.5-0.6 c1 write c1.1 value=a @0.55
0.7-0.8 c1 release c1.1
1.0-1.1 c2 read c2.1 saw=a value=a @1.05
1.2-1.3 c2 write c2.1 value=b @1.25
1.4-1.5 c2 release c2.1`
	for _, tt := range []struct{ name, text, property, why string }{
		{"nothing broke", kept, Exclusion, "could hide"},
		{"nothing broke", kept, Register, "could hide"},
		{"a read of unknown outcome", kept + "\n1.35-1.38 c2 read c2.1 ?", Register, "which reads of unknown outcome are in the register's log"},
		{"a write of unknown outcome", kept + "\n1.35-1.38 c2 write c2.1 value=c ?", Register, "could hide"},
		{"nothing was granted", "0.1-0.2 c1 acquire !held", Exclusion, "the lock was never granted"},
	} {
		in := script(t, tt.text)
		in.Options.Skew = 1e6
		p := Check(in).Properties[tt.property]
		if p.Valid != Unknown || !strings.Contains(p.Why, tt.why) {
			t.Errorf("%s: %s is %v: %s; want %s", tt.name, tt.property, p.Valid, p.Why, tt.why)
		}
	}
}

// TestTokensInDoubt: tokens are in doubt if the skew can put a grant before one with a smaller
// token, by trying all pairs.
func TestTokensInDoubt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := clocks{skew: rapid.Int64Range(1, 10).Draw(t, "skew"), of: map[string]int{"c1": 0, "c2": 0, "c3": rapid.IntRange(0, 1).Draw(t, "machine")}}
		k := &lock{}
		used := map[int]bool{}
		for range rapid.IntRange(0, 5).Draw(t, "grants") {
			g := &grant{process: rapid.SampledFrom([]string{"c1", "c2", "c3"}).Draw(t, "process"), token: rapid.Int64Range(0, 4).Draw(t, "token"), lo: rapid.Int64Range(0, 30).Draw(t, "lo")}
			g.okT = g.lo + rapid.Int64Range(0, 9).Draw(t, "wait")
			k.grants = append(k.grants, g)
			used[c.of[g.process]] = true
		}
		want := false
		for _, a := range k.grants {
			for _, b := range k.grants {
				want = want || len(used) > 1 && b.token > 0 && a.token > b.token && a.okT < b.lo+c.skew
			}
		}
		if got := c.tokensInDoubt(k); got != want {
			t.Fatalf("in doubt: %v, want %v", got, want)
		}
	})
}

// TestSkewAtAnEnd: what would be over at the very instant at which something else begins need not be over then by clocks
// that are apart, though both are answers.
func TestSkewAtAnEnd(t *testing.T) {
	for name, text := range map[string]string{
		"a client that is granted the lock anew": `
0.040-0.040 c2 acquire c2.1 since=0.040 lease=0.022
0.046-0.059 c1 acquire c1.1 since=0.046 lease=0.001
0.059-0.060 c2 acquire c2.2 since=0.059 lease=0.003`,
		"a lease that began late": `
0.041-0.049 c1 acquire c1.1 since=0.041 lease=0.019
-0.051 c1 lost c1.1
0.052-0.068 c2 acquire c2.1 since=0.052 lease=0.001
0.071-0.072 c1 release c1.1 held`,
		"a lease that is over by its promise": `
0.049-0.049 c1 acquire c1.1 since=0.049 lease=0.019
-0.051 c1 lost c1.1
0.052-0.068 c2 acquire c2.1 since=0.052 lease=0.001
0.071-0.072 c1 release c1.1 held`,
		"a renewal that may have been carried out": `
0.049-0.049 c1 acquire c1.1 since=0.049 lease=0.010
0.058-0.060 c1 renew c1.1 ? since=0.058 lease=0.010
-0.061 c1 lost c1.1
0.062-0.069 c2 acquire c2.1 since=0.062 lease=0.001
0.071-0.072 c1 release c1.1 held`,
	} {
		in := script(t, text)
		if v := Check(in); v.Properties[Exclusion].Valid != False {
			t.Errorf("%s: by one clock %v (%s), want false", name, v.Properties[Exclusion].Valid, v.Properties[Exclusion].Why)
		}
		in.Options.Skew = int64(time.Millisecond)
		if v := Check(in); v.Properties[Exclusion].Valid != Unknown {
			t.Errorf("%s: by clocks that are apart %v (%s), want unknown", name, v.Properties[Exclusion].Valid, v.Properties[Exclusion].Why)
		}
	}
}
