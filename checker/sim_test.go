package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

// truth is what really happened to one grant of a simulated run, which the
// history only hints at.
type truth struct {
	given, until int64 // until: release's effect, or the end of the promised lease
	lo, ok       int64 // between which it was given, as far as the history tells
}

// world is a simulated run: what was written down, and what was so.
type world struct {
	in     Input
	grants map[string]truth
}

// simulate draws a run of up to five grants, each of a process of its own, whose
// hidden instants (when the service granted, renewed, released; when the register
// carried out) lie anywhere between the events. A sound service grants one after
// the other; another one whenever it likes. With fencing the register refuses what
// read-write fencing refuses.
func simulate(t *rapid.T, sound, tokens, fencing, leases bool) world {
	return simulateRenewing(t, 3, sound, tokens, fencing, leases)
}

// simulateRenewing is simulate with at most so many renewals of each grant.
func simulateRenewing(t *rapid.T, most int, sound, tokens, fencing, leases bool) world {
	w := world{grants: map[string]truth{}}
	type todo struct {
		at    int64
		order int
		eff   history.Effect
		ev    history.Event // completion, filled in by the register
		known bool
	}
	var queue []todo
	add := func(at int64, e history.Event) {
		e.Time, e.Key = at, "k"
		w.in.Events = append(w.in.Events, e)
	}
	delay := func(name string) int64 { return rapid.Int64Range(0, 6).Draw(t, name) }
	free := int64(2)
	n := rapid.IntRange(2, 5).Draw(t, "grants")
	for i := range n {
		p := fmt.Sprintf("c%d", i+1)
		id := p + ".1"
		given := free + delay("free")
		if !sound {
			given = 2 + rapid.Int64Range(0, 20).Draw(t, "given")
		}
		since := max(1, given-delay("sent"))
		ok := given + delay("answer")
		ev := history.Event{Process: p, Type: history.OK, F: history.Acquire, Grant: id}
		until := int64(-1)
		if leases {
			ev.Lease = rapid.Int64Range(1, 12).Draw(t, "lease")
			ev.Since = since
			until = given + ev.Lease
		}
		if tokens {
			ev.Token = int64(i + 1)
		}
		lo := max(0, since-delay("asked"))
		add(lo, history.Event{Process: p, Type: history.Invoke, F: history.Acquire})
		add(ok, ev)
		at := ok
		renewals := 0
		if leases {
			renewals = rapid.IntRange(0, most).Draw(t, "renewals")
		}
		for renewed := ok; renewals > 0; renewals-- {
			sent := renewed + 1 + delay("renewed")
			reached := sent + delay("way")
			if reached >= until {
				break
			}
			until = reached + ev.Lease
			renewed = reached + delay("back")
			add(renewed, history.Event{Process: p, Type: history.OK, F: history.Renew, Grant: id,
				Since: sent, Lease: ev.Lease, Held: rapid.Bool().Draw(t, "held")})
		}
		for j := range rapid.IntRange(0, 3).Draw(t, "operations") {
			f := rapid.SampledFrom([]string{history.Read, history.Write}).Draw(t, "f")
			at += 1 + delay("before")
			inv := history.Event{Process: p, Type: history.Invoke, F: f, Grant: id}
			if f == history.Write {
				inv.Value = fmt.Sprintf("%s.%d", id, j)
			}
			add(at, inv)
			e := todo{at: at + delay("to the register"), order: len(queue)}
			e.eff = history.Effect{Process: p, F: f, Key: "k", Grant: id, Value: inv.Value, Token: ev.Token}
			at = e.at + delay("from the register")
			e.ev = inv
			e.ev.Time = at
			e.known = rapid.IntRange(0, 4).Draw(t, "answered") > 0
			queue = append(queue, e)
		}
		if rapid.Bool().Draw(t, "releases") {
			at += 1 + delay("hold")
			add(at, history.Event{Process: p, Type: history.Invoke, F: history.Release, Grant: id})
			reached := at + delay("way")
			switch {
			case !leases || reached < until:
				until = reached
				add(reached+delay("back"), history.Event{Process: p, Type: history.OK, F: history.Release, Grant: id, Held: true})
			default:
				add(reached+delay("back"), history.Event{Process: p, Type: history.Fail, F: history.Release, Grant: id})
			}
		} else if !leases {
			until = at + 50
		}
		if leases {
			lo = since
		}
		w.grants[id] = truth{given, until, lo, ok}
		free = max(free, until)
	}
	slices.SortStableFunc(queue, func(a, b todo) int { return int(a.at - b.at) })
	value, highest := "", int64(0)
	for i, q := range queue {
		e := q.eff
		e.Seq, e.Time = int64(i+1), q.at
		q.ev.Type = history.OK
		if fencing && e.Token < highest {
			e.Error, q.ev.Type = "stale", history.Fail
		} else {
			highest = max(highest, e.Token)
			if e.F == history.Write {
				value = e.Value
			} else {
				e.Value, q.ev.Value = value, value
			}
		}
		w.in.Effects = append(w.in.Effects, e)
		if q.known {
			add(q.ev.Time, q.ev)
		}
	}
	slices.SortStableFunc(w.in.Events, func(a, b history.Event) int { return int(a.Time - b.Time) })
	for i := range w.in.Events {
		w.in.Events[i].Index = int64(i)
	}
	return w
}

// consistent says whether some order of the grants that agrees with real time (or
// is given by the tokens) leaves no write stale.
func (w *world) consistent(tokens bool) bool {
	var ids []string
	for id := range w.grants {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	fits := func(order []string) bool {
		position := map[string]int{}
		for i, id := range order {
			position[id] = i
		}
		for i, a := range order {
			for _, b := range order[i+1:] { // a before b
				if tokens && a > b || w.grants[b].ok < w.grants[a].lo {
					return false
				}
			}
		}
		newest := -1
		for _, e := range w.in.Effects {
			if e.Error != "" {
				continue
			}
			if e.F == history.Write && position[e.Grant] < newest {
				return false
			}
			newest = max(newest, position[e.Grant])
		}
		return true
	}
	var try func(rest, order []string) bool
	try = func(rest, order []string) bool {
		if len(rest) == 0 {
			return fits(order)
		}
		for i := range rest {
			left := slices.Delete(slices.Clone(rest), i, i+1)
			if try(left, append(slices.Clone(order), rest[i])) {
				return true
			}
		}
		return false
	}
	return try(ids, nil)
}

// twoHolders counts the grants that came while another one was believed held.
func (w *world) twoHolders() int {
	end := map[string]int64{}
	var ids []string
	for _, e := range w.in.Events {
		switch {
		case e.F == history.Acquire && e.Type == history.OK:
			ids = append(ids, e.Grant)
			end[e.Grant] = w.in.Events[len(w.in.Events)-1].Time + 1
		case e.F == history.Release && e.Type == history.Invoke:
			end[e.Grant] = e.Time
		}
	}
	n := 0
	for i, id := range ids {
		ok := w.grants[id].ok
		if end[id] > ok && slices.ContainsFunc(ids[:i], func(o string) bool { return end[o] > ok }) {
			n++
		}
	}
	return n
}

// lostWrites finds the victims of lost updates by looking at all pairs.
func (w *world) lostWrites() []int64 {
	acked := map[string]bool{}
	for _, e := range w.in.Events {
		if e.F == history.Write && e.Type == history.OK {
			acked[e.Value] = true
		}
	}
	var out []int64
	for _, v := range w.in.Effects {
		if v.F != history.Write || v.Error != "" || !acked[v.Value] {
			continue
		}
		for _, e := range w.in.Effects {
			if e.F != history.Write || e.Error != "" || e.Grant == v.Grant || e.Seq < v.Seq {
				continue
			}
			last := int64(0)
			for _, o := range w.in.Effects {
				if o.Grant == e.Grant && o.Error == "" && o.Seq < e.Seq {
					last = o.Seq
				}
			}
			if last > 0 && last < v.Seq {
				out = append(out, v.Seq)
				break
			}
		}
	}
	return out
}

func named(v Verdict, name string) []Anomaly {
	var out []Anomaly
	for _, a := range v.Anomalies {
		if a.Name == name {
			out = append(out, a)
		}
	}
	return out
}

// TestAgainstTheTruth: on simulated runs, of which everything is known, nobody is
// accused wrongly, and what the history shows is found.
func TestAgainstTheTruth(t *testing.T) {
	count := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		sound := rapid.Bool().Draw(rt, "sound")
		tokens := rapid.Bool().Draw(rt, "tokens") && sound
		fencing := tokens && rapid.Bool().Draw(rt, "fencing")
		leases := rapid.Bool().Draw(rt, "leases")
		w := simulate(rt, sound, tokens, fencing, leases)
		v := Check(w.in)
		for _, a := range v.Anomalies {
			count[a.Name]++
			switch a.Name {
			case "granted-early":
				if sound {
					rt.Fatalf("a sound service is accused: %s", a.Explanation)
				}
				newer := w.grants[a.Grants[len(a.Grants)-1]]
				overlaps := slices.ContainsFunc(a.Grants[:len(a.Grants)-1], func(id string) bool {
					o := w.grants[id]
					return max(o.given, newer.given) < min(o.until, newer.until)
				})
				if !overlaps {
					rt.Fatalf("no two leases were alive at once: %s", a.Explanation)
				}
			case "token-regression", "token-reuse", "nonlinearizable", "deadlock":
				rt.Fatalf("%s: %s", a.Name, a.Explanation)
			case "wrong-release", "false-rejection":
				if sound {
					rt.Fatalf("%s: %s", a.Name, a.Explanation)
				}
			case "stale-write":
				if fencing {
					rt.Fatalf("behind fencing: %s", a.Explanation)
				}
				if a, b := w.grants[a.Grants[0]], w.grants[a.Grants[1]]; a.lo > b.ok {
					rt.Fatalf("the accused is certainly newer")
				}
				// Of two interleaved writes nobody can say which is older, whatever the cause.
				interleaved := len(a.Effects) == 3
				if sound && leases && a.Cause == "interleaved" {
					rt.Fatalf("one of the two came after its own lease: %s", a.Explanation)
				}
				if interleaved && w.grants[a.Grants[0]].ok < w.grants[a.Grants[1]].lo {
					rt.Fatalf("which one is older is certain: %s", a.Explanation)
				}
				if old, young := a.Grants[0], a.Grants[1]; sound && !interleaved && w.grants[old].given > w.grants[young].given {
					rt.Fatalf("the write is the newer grant's: %s", a.Explanation)
				}
			}
		}
		if sound || !leases {
			if stale := len(named(v, "stale-write")) > 0; stale == w.consistent(tokens) {
				rt.Fatalf("stale writes reported: %v, an order without any exists: %v\n%s", stale, stale, dump(w))
			}
		}
		for name, p := range v.Properties {
			if strings.Contains(p.Why, "CONTRADICTS") {
				rt.Fatalf("%s: %s\n%s", name, p.Why, dump(w))
			}
		}
		if got, want := len(named(v, "two-holders")), w.twoHolders(); got != want {
			rt.Fatalf("%d pairs of holders, want %d\n%s", got, want, dump(w))
		}
		var victims []int64
		for _, a := range named(v, "lost-update") {
			victims = append(victims, a.Victims...)
		}
		slices.Sort(victims)
		if want := w.lostWrites(); !slices.Equal(victims, want) {
			rt.Fatalf("lost updates %v, by all pairs %v", victims, want)
		}
		if tokens && !fencing {
			var want, got []int64
			highest := ""
			for _, e := range w.in.Effects {
				if e.F == history.Write && e.Grant < highest {
					want = append(want, e.Seq)
				}
				highest = max(highest, e.Grant)
			}
			for _, a := range named(v, "stale-write") {
				got = append(got, a.Effects[1])
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				rt.Fatalf("stale writes %v, in truth %v", got, want)
			}
		}
	})
	for _, name := range []string{"granted-early", "two-holders", "stale-write", "lost-update"} {
		if count[name] == 0 && !testing.Short() {
			t.Errorf("%s never occurred", name)
		}
	}
}

// TestEvidenceSuffice: what an anomaly names as its evidence shows it, and all of it
// is needed.
func TestEvidenceSuffice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		leases := rapid.Bool().Draw(rt, "leases")
		sound := rapid.Bool().Draw(rt, "sound")
		// Tokens that contradict one another elsewhere show nothing here either,
		// which a part of the history cannot know.
		w := simulateRenewing(rt, 1, sound, sound && rapid.Bool().Draw(rt, "tokens"), false, leases)
		v := Check(w.in)
		if !evidenceIsNeeded(rt, w.in, v) {
			rt.Logf("%s%+v", dump(w), v.Anomalies)
		}
	})
}

func dump(w world) string {
	s := ""
	for _, e := range w.in.Events {
		s += fmt.Sprintf("%d: %d %s %s %s %s %s since %d lease %d held %v\n", e.Index, e.Time, e.Process, e.Type, e.F, e.Grant, e.Value, e.Since, e.Lease, e.Held)
	}
	for _, e := range w.in.Effects {
		s += fmt.Sprintf("effect %d @%d %s %s %s %s\n", e.Seq, e.Time, e.F, e.Grant, e.Value, e.Error)
	}
	return s
}
