package hunt

import (
	"maps"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
)

// trace is a small history: who, what, and when in hundredths of a lease.
type step struct {
	at  int64
	who string
	typ history.Type
	f   string
}

const hundredth = int64(time.Millisecond)

func trace(lease bool, steps ...step) []history.Event {
	var out []history.Event
	asked := map[string]int64{}
	for _, s := range steps {
		e := history.Event{Time: s.at * hundredth, Process: s.who, Type: s.typ, F: s.f}
		if s.typ == history.Invoke {
			asked[s.who] = e.Time
		}
		if lease && s.typ == history.OK && (s.f == history.Acquire || s.f == history.Renew) {
			e.Since, e.Lease = asked[s.who], 100*hundredth
		}
		out = append(out, e)
	}
	return out
}

func TestMargins(t *testing.T) {
	a := func(at int64, typ history.Type, f string) step { return step{at, "A", typ, f} }
	b := func(at int64, typ history.Type, f string) step { return step{at, "B", typ, f} }
	granted := []step{a(0, history.Invoke, history.Acquire), a(5, history.OK, history.Acquire)}
	got := func(at int64) step { return b(at, history.OK, history.Acquire) }
	for name, c := range map[string]struct {
		noLease bool
		steps   []step
		want    map[string]float64
	}{
		"a release, and then a grant at once":         {false, []step{a(10, history.Invoke, history.Release), a(12, history.OK, history.Release), got(12)}, nil},
		"a grant while the release is under way":      {false, []step{a(10, history.Invoke, history.Release), got(11), a(12, history.OK, history.Release)}, nil},
		"a release that failed":                       {false, []step{a(10, history.Invoke, history.Release), a(12, history.Fail, history.Release), got(130)}, nil},
		"the lease ended, and half a lease after it":  {false, []step{got(150)}, map[string]float64{"exclusion": 0.5}},
		"soon after its end":                          {false, []step{got(102)}, map[string]float64{"exclusion": 0.02}},
		"within the lease":                            {false, []step{got(60)}, map[string]float64{"exclusion": 0}},
		"renewed, and soon after the first end":       {false, []step{a(50, history.Invoke, history.Renew), a(51, history.OK, history.Renew), got(160)}, map[string]float64{"exclusion": 0.1}},
		"a renewal that failed":                       {false, []step{a(50, history.Invoke, history.Renew), a(51, history.Fail, history.Renew), got(160)}, map[string]float64{"exclusion": 0.6}},
		"notified of its loss":                        {true, []step{a(50, history.OK, history.Lost), got(70)}, map[string]float64{"belief": 0.2}},
		"notified of its loss, released, and a grant": {true, []step{a(50, history.OK, history.Lost), a(51, history.Invoke, history.Release), got(52)}, nil},
		"its last write long before":                  {true, []step{a(10, history.Invoke, history.Write), a(12, history.OK, history.Write), a(50, history.OK, history.Lost), got(112)}, map[string]float64{"belief": 0.62, "register": 1}},
		"its write is under way":                      {false, []step{a(99, history.Invoke, history.Write), got(110)}, map[string]float64{"exclusion": 0.1, "register": 0}},
		"a write under an earlier grant":              {false, []step{a(10, history.Invoke, history.Write), a(11, history.OK, history.Write), a(12, history.Invoke, history.Release), a(13, history.OK, history.Release), a(14, history.Invoke, history.Acquire), a(15, history.OK, history.Acquire), got(124)}, map[string]float64{"exclusion": 0.1}},
		"its own next grant":                          {false, []step{a(105, history.OK, history.Acquire)}, nil},
		"refused":                                     {false, []step{b(60, history.Fail, history.Acquire)}, nil},
	} {
		f := feedbackOf(trace(!c.noLease, append(granted, c.steps...)...), time.Duration(100*hundredth))
		if len(c.want) != len(f.margins) || !maps.EqualFunc(c.want, f.margins, func(x, y float64) bool { return x-y < 1e-9 && y-x < 1e-9 }) {
			t.Errorf("%s: %v, want %v", name, f.margins, c.want)
		}
	}
}

// What comes after an ordinary handover can still be closer than it.
func TestCloserThanAHandover(t *testing.T) {
	handover := trace(true, step{0, "A", history.Invoke, history.Acquire}, step{5, "A", history.OK, history.Acquire}, step{10, "A", history.Invoke, history.Release},
		step{12, "A", history.OK, history.Release}, step{12, "B", history.OK, history.Acquire})
	near := trace(true, step{0, "A", history.Invoke, history.Acquire}, step{5, "A", history.OK, history.Acquire}, step{103, "B", history.OK, history.Acquire})
	on := target(1, 1)
	c := newCorpus()
	c.add(on.schedule(workloads(on)[0]), feedbackOf(handover, time.Duration(100*hundredth)))
	s := on.schedule(workloads(on)[1])
	c.add(s, feedbackOf(near, time.Duration(100*hundredth)))
	if got := c.archives["exclusion"]; got == nil || got.entry.schedule != s {
		t.Errorf("the closest is %+v", got)
	}
}
