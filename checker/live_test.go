package checker

import (
	"slices"
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
