package checker

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/history"
)

func TestLive(t *testing.T) {
	in := script(t, `
0.100-0.111 c1 acquire c1.1 token=33 lease=1
0.150-0.250 nemesis pause c1
0.200-0.511 c2 acquire c2.1 token=34 since=0.505 lease=1
0.520-0.530 c1 write c1.1 value=a !stale
0.950-0.960 c1 release c1.1
1.000-1.001 c2 release c2.1
1.100-1.101 c3 acquire c3.1 token=1 lease=1
1.200-1.201 nemesis kill c3
`)
	l := NewLive()
	for _, e := range in.Events {
		l.Observe(e)
		switch e.Index {
		case 3:
			if got := l.Faults(); !slices.Equal(got, []string{"pause"}) {
				t.Errorf("faults %v while c1 is paused", got)
			}
		case 5:
			if got := l.Holders("k0"); !slices.Equal(got, []string{"c1", "c2"}) {
				t.Errorf("holders %v after the second grant", got)
			}
			if l.Overlaps != 1 {
				t.Errorf("%d overlaps after the second grant, want 1", l.Overlaps)
			}
			if l.Anomalies != 1 {
				t.Errorf("%d anomalies after the second grant, want 1", l.Anomalies)
			}
		}
	}
	if l.Grants != 3 || l.Anomalies != 2 || l.Rejected != 1 || len(l.Holders("k0")) != 0 || len(l.Faults()) != 0 {
		t.Errorf("at the end: %d grants, %d anomalies, %d rejected, holders %v, faults %v", l.Grants, l.Anomalies, l.Rejected, l.Holders("k0"), l.Faults())
	}
}

// TestLiveAccusesNobody: where the verdict finds no early grant, neither does the
// count.
func TestLiveAccusesNobody(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := simulate(rt, rapid.Bool().Draw(rt, "sound"), false, false, true)
		l := NewLive()
		for i := range w.in.Events {
			// Whoever looks at events one by one cannot see that a release comes
			// in the same instant: there is none here.
			e := w.in.Events[i]
			if e.Time *= 10; e.Type == history.OK && e.F == history.Acquire {
				e.Time++
			}
			e.Since, e.Lease = e.Since*10, e.Lease*10
			w.in.Events[i] = e
		}
		history.Sort(w.in.Events)
		for _, e := range w.in.Events {
			l.Observe(e)
		}
		if n := len(named(Check(w.in), "granted-early")); l.Anomalies > n {
			rt.Fatalf("live %d, verdict %d\n%s", l.Anomalies, n, dump(w))
		}
	})
}

// Two processes' events arrive in any order: a release that was sent before the
// next grant may come in after it, and is no anomaly.
func TestLiveWaitsForALateRelease(t *testing.T) {
	in := script(t, `
0.100-0.111 c1 acquire c1.1 token=33 lease=1
0.120-0.121 c1 release c1.1
0.118-0.130 c2 acquire c2.1 token=34 since=0.125 lease=1
`)
	var first, late []history.Event
	for _, e := range in.Events {
		if e.Process == "c1" && e.F == history.Release {
			late = append(late, e)
		} else {
			first = append(first, e)
		}
	}
	l := NewLive()
	for _, e := range append(first, late...) {
		l.Observe(e)
	}
	if l.Anomalies != 0 {
		t.Errorf("%d anomalies, want none", l.Anomalies)
	}
}

// TestLiveLeases: which grants count as early while leases are renewed, outlived
// and passed on.
func TestLiveLeases(t *testing.T) {
	for _, c := range []struct {
		name, text string
		anomalies  int
	}{
		{"renewed", "0.1-0.2 c1 acquire c1.1 lease=0.5\n0.3-0.4 c1 renew c1.1 lease=1\n0.8-0.9 c2 acquire c2.1 lease=1", 1},
		{"renewed, in the instant of its end", "0.1-0.2 c1 acquire c1.1 lease=0.5\n0.5-0.6 c1 renew c1.1 lease=1\n0.8-0.9 c2 acquire c2.1 lease=1", 1},
		{"not renewed", "0.1-0.2 c1 acquire c1.1 lease=0.5\n0.3-0.4 c1 renew c1.1 lease=1 !not-held\n0.8-0.9 c2 acquire c2.1 lease=1", 0},
		{"renewal of unknown outcome", "0.1-0.2 c1 acquire c1.1 lease=0.5\n0.3-0.4 c1 renew c1.1 lease=1 ?\n0.8-0.9 c2 acquire c2.1 lease=1", 0},
		{"renewed too late, without the service's word", "0.1-0.2 c1 acquire c1.1 lease=0.2\n0.3-0.4 c1 renew c1.1 lease=1\n0.8-0.9 c2 acquire c2.1 lease=1", 0},
		{"renewed too late, with the service's word", "0.1-0.2 c1 acquire c1.1 lease=0.2\n0.3-0.4 c1 renew c1.1 lease=1 held\n0.8-0.9 c2 acquire c2.1 lease=1", 1},
		{"renewed by less", "0.1-0.2 c1 acquire c1.1 lease=1\n0.3-0.4 c1 renew c1.1 lease=0.1\n0.8-0.9 c2 acquire c2.1 lease=1", 1},
		{"renewed without a length", "0.1-0.2 c1 acquire c1.1 lease=0.5\n0.3-0.4 c1 renew c1.1 held\n0.8-0.9 c2 acquire c2.1 lease=1", 0},
		{"renewed when another one's lease reached further", "0.1-0.2 c1 acquire c1.1 lease=0.5\n0.7-0.8 c2 acquire c2.1 lease=0.2\n0.81-0.82 c1 renew c1.1 lease=3 held\n1.1-1.2 c3 acquire c3.1 lease=1", 1},
		{"renewed, and another one's lease still reaches further", "0.1-0.2 c1 acquire c1.1 lease=0.5\n0.7-0.8 c2 acquire c2.1 lease=3\n0.81-0.82 c1 renew c1.1 lease=0.01 held\n1.1-1.2 c3 acquire c3.1 lease=1", 1},
		{"the shorter lease does not hide the longer one", "0.1-0.2 c1 acquire c1.1 lease=5\n0.3-0.4 c2 acquire c2.1 lease=0.2\n0.8-0.9 c3 acquire c3.1 lease=1", 2},
		{"the longer lease counts", "0.1-0.2 c1 acquire c1.1 lease=0.5\n0.7-0.8 c2 acquire c2.1 lease=1\n1.2-1.3 c3 acquire c3.1 lease=1", 1},
		{"over when it was learnt of", "0.1-0.2 c1 acquire c1.1 lease=1\n0.3-0.5 c2 acquire c2.1 lease=0.1", 0},
		{"no leases", "0.1-0.2 c1 acquire c1.1\n0.3-0.4 c2 acquire c2.1", 0},
		{"a smaller token", "0.1-0.2 c1 acquire c1.1 token=2 lease=0.1\n0.3-0.4 c2 acquire c2.1 token=1 lease=1", 1},
		{"the same token", "0.1-0.2 c1 acquire c1.1 token=2 lease=0.1\n0.3-0.4 c2 acquire c2.1 token=2 lease=1", 1},
		{"a smaller token, asked for before", "0.1-0.2 c1 acquire c1.1 token=2 lease=0.1\n0.15-0.4 c2 acquire c2.1 token=1 lease=1", 0},
		{"a smaller token than one before the last", "0.1-0.2 c1 acquire c1.1 token=3 lease=0.1\n0.21-0.3 c2 acquire c2.1 token=2 lease=0.01\n0.31-0.4 c3 acquire c3.1 token=2 lease=1", 2},
		{"no token", "0.1-0.2 c1 acquire c1.1 token=2 lease=0.1\n0.3-0.4 c2 acquire c2.1 lease=1", 0},
		{"tokens of a lock without leases", "0.1-0.2 c1 acquire c1.1 token=2\n0.3-0.4 c2 acquire c2.1 token=1", 0},
	} {
		l := NewLive()
		for _, e := range script(t, c.text).Events {
			l.Observe(e)
		}
		if l.Anomalies != c.anomalies {
			t.Errorf("%s: %d anomalies, want %d", c.name, l.Anomalies, c.anomalies)
		}
	}
}

// TestLiveRejected: only the register's refusals count.
func TestLiveRejected(t *testing.T) {
	l := NewLive()
	for _, e := range script(t, `
0.10-0.11 c1 acquire c1.1
0.12-0.13 c1 read c1.1
0.14-0.15 c1 read c1.1 !stale
0.16-0.17 c1 write c1.1 value=a !stale
0.18-0.19 c1 add c1.1 value=b !stale
0.20-0.21 c1 write c1.1 value=c ?
0.22-0.23 c1 renew c1.1 !not-held
0.24-0.25 c1 release c1.1 !not-held
0.26-0.27 c1 acquire !timeout
`).Events {
		l.Observe(e)
	}
	if l.Rejected != 3 {
		t.Errorf("%d operations of the register rejected, want 3", l.Rejected)
	}
}

// TestLiveFaults: a fault is on from its first begin to its last end, a kill ends
// what its client believed, and not before it begins.
func TestLiveFaults(t *testing.T) {
	l := NewLive()
	var on, holders []string
	for _, e := range script(t, `
0.10-0.11 c1 acquire c1.1
0.12-0.13 c2 acquire c2.1
0.20-0.50 nemesis pause c1
0.30-0.40 nemesis pause c2
0.45-0.60 nemesis kill:holder c1
`).Events {
		if l.Observe(e); e.Process == history.Nemesis {
			on = append(on, strings.Join(l.Faults(), "+"))
			holders = append(holders, strings.Join(l.Holders("k0"), "+"))
		}
	}
	if want := []string{"pause", "pause", "pause", "kill:holder+pause", "kill:holder", ""}; !slices.Equal(on, want) {
		t.Errorf("on: %q, want %q", on, want)
	}
	if want := []string{"c1+c2", "c1+c2", "c1+c2", "c2", "c2", "c2"}; !slices.Equal(holders, want) {
		t.Errorf("holders: %q, want %q", holders, want)
	}
	if got := l.Holders("k1"); got != nil {
		t.Errorf("holders %q of a lock that nobody named", got)
	}
}

// TestLiveForgetsHolders: clients that never release do not make it slow; the
// newest holders are those that are named.
func TestLiveForgetsHolders(t *testing.T) {
	l := NewLive()
	for i := range int64(maxHolders + 10) {
		p := fmt.Sprint("c", i)
		l.Observe(history.Event{Time: i, Process: p, Type: history.OK, F: history.Acquire, Key: "k0", Grant: p + ".1"})
		if got := l.Holders("k0"); len(got) != min(int(i)+1, maxHolders) || got[len(got)-1] != p {
			t.Fatalf("after %d grants: %d holders, the last is %s", i+1, len(got), got[len(got)-1])
		}
	}
	if len(l.grants) != maxHolders {
		t.Errorf("%d grants remembered", len(l.grants))
	}
	l.Observe(history.Event{Time: 1000, Process: "c0", Type: history.Invoke, F: history.Release, Key: "k0", Grant: "c0.1"})
	last := fmt.Sprint("c", maxHolders+9)
	l.Observe(history.Event{Time: 1000, Process: last, Type: history.Invoke, F: history.Release, Key: "k0", Grant: last + ".1"})
	if got := l.Holders("k0"); len(got) != maxHolders-1 || slices.Contains(got, last) {
		t.Errorf("%d holders after one release", len(got))
	}
}

// What overlapped is counted for locks without leases, too; a release that comes in
// late takes it back, and several holders of a semaphore are none.
func TestLiveOverlaps(t *testing.T) {
	for _, c := range []struct {
		name, text string
		late       bool // the last event comes in at its position in the text, after a later grant
		want       int
	}{
		{"two at once without a lease", "0.1-0.2 c1 acquire c1.1\n0.1-0.3 c2 acquire c2.1\n0.1-0.4 c3 acquire c3.1", false, 2},
		{"one after the other", "0.1-0.2 c1 acquire c1.1\n0.25-0.26 c1 release c1.1\n0.1-0.3 c2 acquire c2.1", false, 0},
		{"the client's own next grant", "0.1-0.2 c1 acquire c1.1\n0.25-0.3 c1 acquire c1.2", false, 0},
		{"a release that comes in late", "0.1-0.2 c1 acquire c1.1\n0.1-0.3 c2 acquire c2.1\n0.25- c1 release c1.1", true, 0},
		{"a semaphore", "0.1-0.2 c1 acquire c1.1 permits=2\n0.1-0.3 c2 acquire c2.1 permits=2", false, 0},
	} {
		in := script(t, c.text)
		if c.late {
			i := slices.IndexFunc(in.Events, func(e history.Event) bool { return e.F == history.Release })
			in.Events = append(append(slices.Clone(in.Events[:i]), in.Events[i+1:]...), in.Events[i])
		}
		l := NewLive()
		for _, e := range in.Events {
			l.Observe(e)
		}
		if l.Overlaps != c.want {
			t.Errorf("%s: %d overlaps, want %d", c.name, l.Overlaps, c.want)
		}
	}
}

// Events that come in late by less than the lag are put in their position: clients that
// held one after the other never overlap. Two that did are still counted.
func TestLiveLag(t *testing.T) {
	for _, overlapping := range []bool{false, true} {
		var events []history.Event
		for i := range int64(200) {
			who := fmt.Sprint("c", i%7)
			grant := fmt.Sprint(who, ".", i)
			at, held := i*100, int64(60)
			if overlapping && i == 100 {
				held = 160
			}
			events = append(events,
				history.Event{Time: at, Process: who, Type: history.OK, F: history.Acquire, Key: "k0", Grant: grant, Since: at, Lease: 90},
				history.Event{Time: at + held, Process: who, Type: history.Invoke, F: history.Release, Key: "k0", Grant: grant})
		}
		history.Sort(events)
		rng := rand.New(rand.NewPCG(1, 1))
		arrival := map[int]int64{}
		order := make([]int, len(events))
		for i := range events {
			order[i], arrival[i] = i, events[i].Time+rng.Int64N(400)
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(arrival[a], arrival[b]) })
		l := NewLive()
		l.Lag = 400
		for _, i := range order {
			l.Observe(events[i])
		}
		l.Observe(history.Event{Time: 1e9, Process: "c9", Type: history.Invoke, F: history.Acquire, Key: "k0"})
		want := 0
		if overlapping {
			want = 1
		}
		if l.Overlaps != want || l.Anomalies != 0 || l.Grants != 200 {
			t.Errorf("%d overlaps and %d anomalies among %d grants, want %d and none", l.Overlaps, l.Anomalies, l.Grants, want)
		}
	}
}

// What comes at one instant is counted in the order in which it came.
func TestLiveAtOneInstant(t *testing.T) {
	l := NewLive()
	l.Lag = 10
	for i := range 8 {
		c := fmt.Sprint("c", i)
		g := history.Event{Time: 5, Process: c, Key: "k0", Grant: c + ".1"}
		for _, x := range []history.Event{{F: history.Acquire, Type: history.Invoke}, {F: history.Acquire, Type: history.OK}, {F: history.Release, Type: history.Invoke}, {F: history.Release, Type: history.OK}} {
			e := g
			if e.F, e.Type = x.F, x.Type; x.F == history.Acquire && x.Type == history.Invoke {
				e.Grant = ""
			}
			l.Observe(e)
		}
	}
	l.Observe(history.Event{Time: 100, Process: "c0", Key: "k0", F: history.Acquire, Type: history.Invoke})
	if l.Grants != 8 || l.Overlaps != 0 {
		t.Errorf("%d grants, %d overlaps, want 8 that follow one another", l.Grants, l.Overlaps)
	}
}
