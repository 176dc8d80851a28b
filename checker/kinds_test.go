package checker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

// kindSmall is one hold on a small clock, as a plain list of what is known: who, how,
// and the two intervals that are judged.
type kindSmall struct {
	process, grant  string
	mode            string
	permit          int64
	inv, ok, lease  int64
	renewed         int64 // when its renewal was asked for, 0 for none
	more            int64 // what it was given then
	release         int64
	held            bool // the service confirms renewal and release
	inner           int  // of a hold that was entered again: the entry's place; 0 for none
	alive, believed func(now int64) bool
}

// shortened says that an entry of the hold, or the entry's renewal, need not have left as much of the one lease, and that the lock did not say later that it had.
func (h kindSmall) shortened(all []kindSmall, now int64) bool {
	if h.inner == 0 {
		return false
	}
	e := all[h.inner]
	word := int64(0)
	for _, g := range []kindSmall{h, e} {
		if g.held {
			word = max(word, g.release, g.renewed)
		}
	}
	return now >= max(e.inv+e.lease, word) || e.renewed > 0 && now >= max(e.renewed+e.more, word)
}

// drawKind draws processes that do one thing after the other, each its own line of
// holds, all at random distances.
func drawKind(t *rapid.T, kind string, permits int64) []kindSmall {
	var out []kindSmall
	for p := range rapid.IntRange(2, 5).Draw(t, "processes") {
		at := int64(1)
		process := fmt.Sprintf("c%d", p+1)
		n := 0
		for range rapid.IntRange(1, 2).Draw(t, "holds") {
			take := func(mode string) int {
				n++
				h := kindSmall{process: process, mode: mode, permit: permits, grant: fmt.Sprintf("%s.%d", process, n)}
				h.inv = at + rapid.Int64Range(0, 4).Draw(t, "idle")
				h.ok = h.inv + rapid.Int64Range(0, 4).Draw(t, "wait")
				h.lease = rapid.Int64Range(1, 8).Draw(t, "lease")
				at = h.ok
				if rapid.IntRange(0, 2).Draw(t, "renews") == 0 {
					h.renewed = at + rapid.Int64Range(0, 6).Draw(t, "until renewed")
					h.more = rapid.Int64Range(1, 8).Draw(t, "more")
					at = h.renewed + 1
				}
				h.held = rapid.IntRange(0, 2).Draw(t, "confirms") == 0
				out = append(out, h)
				return len(out) - 1
			}
			end := func(i int) {
				at += rapid.Int64Range(0, 6).Draw(t, "hold")
				out[i].release = at
			}
			mode := ""
			if kind == "rw" && rapid.Bool().Draw(t, "shares") {
				mode = history.Shared
			}
			i := take(mode)
			if kind == "reentrant" && rapid.Bool().Draw(t, "enters") {
				j := take(history.Nested)
				end(j)
				out[i].inner = j
			}
			end(i)
			at++
		}
	}
	for i := range out {
		h := out[i]
		out[i].believed = func(now int64) bool { return h.ok <= now && now < h.release }
		out[i].alive = func(now int64) bool {
			if now < h.ok || now >= h.release || h.shortened(out, now) {
				return false
			}
			until := h.inv + h.lease
			if h.renewed > 0 { // which may have left it less than it had
				until = min(until, max(h.renewed, h.renewed+h.more))
			}
			return now < until || h.held || h.renewed > 0 && h.renewed+1 <= now && now < h.renewed+h.more ||
				// Renewed in time, it went on without a gap.
				h.renewed > 0 && h.renewed+1 <= h.inv+h.lease && now < h.renewed+h.more
		}
	}
	return out
}

func kindEvents(holds []kindSmall) []history.Event {
	var ev []history.Event
	for _, h := range holds {
		e := history.Event{Time: h.inv, Process: h.process, Type: history.Invoke, F: history.Acquire, Key: "k", Mode: h.mode, Permits: h.permit}
		ev = append(ev, e)
		e.Time, e.Type, e.Grant, e.Since, e.Lease = h.ok, history.OK, h.grant, h.inv, h.lease
		ev = append(ev, e)
		if h.renewed > 0 {
			n := history.Event{Time: h.renewed, Process: h.process, Type: history.Invoke, F: history.Renew, Key: "k", Grant: h.grant}
			ev = append(ev, n)
			n.Time, n.Type, n.Since, n.Lease, n.Held = h.renewed+1, history.OK, h.renewed, h.more, h.held
			ev = append(ev, n)
		}
		r := history.Event{Time: h.release, Process: h.process, Type: history.Invoke, F: history.Release, Key: "k", Grant: h.grant}
		ev = append(ev, r)
		r.Type, r.Held = history.OK, h.held
		ev = append(ev, r)
	}
	// A process's own events are in their order where their times are equal.
	slices.SortStableFunc(ev, func(a, b history.Event) int { return int(a.Time - b.Time) })
	for i := range ev {
		ev[i].Index = int64(i)
	}
	return ev
}

// allowed looks at every instant, and at all holds at once.
func allowed(holds []kindSmall, kind string, permits int64, indexRange func(kindSmall) func(int64) bool) bool {
	for now := int64(0); now < 200; now++ {
		var out []kindSmall
		for _, h := range holds {
			if indexRange(h)(now) {
				out = append(out, h)
			}
		}
		for i, a := range out {
			for _, b := range out[:i] {
				switch {
				case kind == "rw" && (a.mode != history.Shared || b.mode != history.Shared),
					kind == "reentrant" && a.process != b.process:
					return false
				}
			}
		}
		if kind == "semaphore" && int64(len(out)) > permits {
			return false
		}
	}
	return true
}

// TestKindsAreExact: a lock that is no mutex is accused if and only if, at some instant,
// more leases were certainly alive than its kind allows, or more clients believed; and
// Porcupine agrees.
func TestKindsAreExact(t *testing.T) {
	for _, kind := range []string{"semaphore", "rw", "reentrant"} {
		t.Run(kind, func(t *testing.T) {
			seen := map[[2]bool]int{}
			check := func(t *rapid.T) {
				permits := int64(0)
				if kind == "semaphore" {
					permits = rapid.Int64Range(1, 3).Draw(t, "permits")
				}
				holds := drawKind(t, kind, permits)
				in := Input{Events: kindEvents(holds)}
				an := analysed(in)
				k := an.lockNamed("k")
				if k.mutex() {
					return
				}
				early := len(k.earlyOf(k.grants)) == 0
				if want := allowed(holds, kind, permits, func(h kindSmall) func(int64) bool { return h.alive }); early != want {
					t.Fatalf("exclusion %v, at every instant %v\n%s", early, want, dump(world{in: in}))
				}
				patchy := slices.ContainsFunc(k.grants, (*grant).patchy) // which no model knows
				if q := k.porcupineCase(k.grants); !patchy && (porcupine.CheckOperations(q.model, q.calls) != early || q.exact != early) {
					t.Fatalf("exclusion %v, Porcupine disagrees\n%s", early, dump(world{in: in}))
				}
				for _, w := range exclusionWindows(an, groupsOf(an.locks)) {
					if q := w.build(); len(w.build().calls) > 0 && len(groupsOf(an.locks)) == 1 && q.exact != early {
						t.Fatalf("exclusion %v, the arbiter is asked something else\n%s", early, dump(world{in: in}))
					}
				}
				belief := len(findTwoHolders(an)) == 0
				if want := allowed(holds, kind, permits, func(h kindSmall) func(int64) bool { return h.believed }); belief != want {
					t.Fatalf("belief %v, at every instant %v\n%s", belief, want, dump(world{in: in}))
				}
				seen[[2]bool{early, belief}]++
				if v := Check(in); !evidenceIsNeeded(t, in, v) {
					t.Fatalf("\n%s", dump(world{in: in}))
				}
			}
			rapid.Check(t, check)
			// Some kinds come to all outcomes in few draws only.
			for round := 0; round < 50 && len(seen) < 3 && !testing.Short(); round++ {
				rapid.Check(t, check)
			}
			if len(seen) < 3 && !testing.Short() {
				t.Errorf("the test sees only %v", seen)
			}
		})
	}
}

// TestKindsContested: a grant counts as contested if somebody had to wait, and not
// because others hold the lock who may.
func TestKindsContested(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"a permit is left", `
0.1-0.2 c1 acquire c1.1 permits=2
0.3-0.4 c2 acquire c2.1 permits=2`, 0},
		{"all permits were out when it asked", `
0.1-0.2 c1 acquire c1.1 permits=1
0.3-0.5 c2 acquire c2.1 permits=1
0.4-0.45 c1 release c1.1`, 1},
		{"more ask than there are permits", `
0.1-0.4 c1 acquire c1.1 permits=2
0.1-0.5 c2 acquire c2.1 permits=2
0.1-0.6 c3 acquire c3.1 permits=2`, 3},
		{"as many ask as there are permits", `
0.1-0.4 c1 acquire c1.1 permits=2
0.1-0.5 c2 acquire c2.1 permits=2`, 0},
		{"readers", `
0.1-0.3 c1 acquire c1.1 mode=shared
0.1-0.4 c2 acquire c2.1 mode=shared
0.35-0.5 c3 acquire c3.1 mode=shared`, 0},
		{"a reader waits for a writer", `
0.1-0.2 c1 acquire c1.1
0.3-0.5 c2 acquire c2.1 mode=shared
0.4-0.45 c1 release c1.1`, 1},
		{"a writer waits for a reader", `
0.1-0.2 c1 acquire c1.1 mode=shared
0.3-0.5 c2 acquire c2.1
0.4-0.45 c1 release c1.1`, 1},
		{"a hold is entered again", `
0.1-0.2 c1 acquire c1.1
0.3-0.4 c1 acquire c1.2 mode=nested`, 0},
		{"a hold is entered again while another waits", `
0.1-0.2 c1 acquire c1.1
0.25-0.6 c2 acquire ?
0.3-0.4 c1 acquire c1.2 mode=nested`, 0},
		{"the lease of a killed client runs", `
0.1-0.2 c1 acquire c1.1 lease=1
0.3-0.4 nemesis kill c1
0.5-1.2 c2 acquire c2.1 lease=1`, 1},
		{"the lease of a killed client has run out", `
0.1-0.2 c1 acquire c1.1 lease=1
0.3-0.4 nemesis kill c1
1.1-1.2 c2 acquire c2.1 lease=1`, 0},
		{"a client waits for what it had before it was killed", `
0.1-0.2 c1 acquire c1.1 lease=1
0.3-0.4 nemesis kill c1
0.5-1.2 c1 acquire c1.2 lease=1`, 0},
		{"the lease of a killed reader", `
0.1-0.2 c1 acquire c1.1 lease=1 mode=shared
0.3-0.4 nemesis kill c1
0.5-0.6 c2 acquire c2.1 lease=1 mode=shared`, 0},
	} {
		if got := Check(script(t, c.text)).Stats.Contested; got != c.want {
			t.Errorf("%s: %d contested, want %d", c.name, got, c.want)
		}
	}
}

// TestKindsLive: the progress line does not take for wrong what the kind allows.
func TestKindsLive(t *testing.T) {
	for text, want := range map[string]int{
		"0.1-0.2 c1 acquire c1.1 permits=2 lease=1\n0.3-0.4 c2 acquire c2.1 permits=2 lease=1":      0,
		"0.1-0.2 c1 acquire c1.1 mode=shared lease=1\n0.3-0.4 c2 acquire c2.1 mode=shared lease=1":  0,
		"0.1-0.2 c1 acquire c1.1 lease=1\n0.3-0.4 c1 acquire c1.2 mode=nested lease=1":              0,
		"0.1-0.2 c1 acquire c1.1 lease=1\n0.3-0.4 c2 acquire c2.1 lease=1\n0.5-0.6 c1 release c1.1": 1,
	} {
		l := NewLive()
		for _, e := range script(t, text).Events {
			l.Observe(e)
		}
		if l.Anomalies != want || l.Grants != 2 {
			t.Errorf("%q: %d anomalies, %d grants; want %d", text, l.Anomalies, l.Grants, want)
		}
	}
}
