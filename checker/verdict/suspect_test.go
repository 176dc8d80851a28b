package verdict

import (
	"math"
	"testing"
)

func TestAtOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		list []Early
		want bool
	}{
		{"none", nil, false},
		{"two requests at once", []Early{{Lease: 1000, Left: 990, Asked: 1}}, true},
		{"sent when the first had its answer", []Early{{Lease: 1000, Left: 990}}, false},
		{"later in the lease", []Early{{Lease: 1000, Left: 950, Asked: 1}}, false},
		{"of no known lease", []Early{{Lease: 0, Left: 990, Asked: 1}}, false},
		{"half of them", []Early{{Lease: 1000, Left: 990, Asked: 1}, {Lease: 1000, Left: 500, Asked: 1}}, false},
		{"most of them", []Early{{Lease: 1000, Left: 990, Asked: 1}, {Lease: 1000, Left: 500, Asked: 1}, {Lease: 1000, Left: 990, Asked: 1}}, true},
		{"the last of several permits", []Early{{Lease: 1000, Left: 990, Asked: 1, Crowd: true}}, true},
	} {
		if got := AtOnce(c.list); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestSteadyShare(t *testing.T) {
	for _, c := range []struct {
		name string
		list []Early
		want float64 // -1: none
	}{
		{"none", nil, -1},
		{"two show no habit", []Early{{Lease: 100, Left: 40}, {Lease: 100, Left: 40}}, -1},
		{"at one share", []Early{{Lease: 100, Left: 40}, {Lease: 100, Left: 36}, {Lease: 100, Left: 40}}, 60},
		{"here and there", []Early{{Lease: 100, Left: 90}, {Lease: 100, Left: 40}, {Lease: 100, Left: 10}}, -1},
		{"at once", []Early{{Lease: 100, Left: 99}, {Lease: 100, Left: 98}, {Lease: 100, Left: 97}}, -1},
		{"of most nothing is known", []Early{{Lease: 100, Left: 40}, {Lease: 100, Left: 40}, {Lease: 100, Left: 40}, {}, {}, {}, {}}, -1},
		{"the latest of several leases", []Early{{Lease: 100, Left: 40, Crowd: true}, {Lease: 100, Left: 40, Crowd: true}, {Lease: 100, Left: 40, Crowd: true}}, -1},
	} {
		got, ok := SteadyShare(c.list)
		if ok != (c.want >= 0) || ok && got != c.want {
			t.Errorf("%s: %v, %v", c.name, got, ok)
		}
	}
}

func TestAgreedShare(t *testing.T) {
	for _, c := range []struct {
		name string
		list []Early
		want float64 // -1: none
	}{
		{"two that agree", []Early{{Lease: 1000, Left: 396}, {Lease: 1000, Left: 394}}, 60.4},
		{"two that do not", []Early{{Lease: 1000, Left: 396}, {Lease: 1000, Left: 340}}, -1},
		{"one", []Early{{Lease: 1000, Left: 396}}, -1},
		{"three", []Early{{Lease: 1000, Left: 396}, {Lease: 1000, Left: 340}, {Lease: 1000, Left: 390}}, 60.4},
	} {
		got, ok := AgreedShare(c.list)
		if ok != (c.want >= 0) || ok && math.Abs(got-c.want) > 0.001 {
			t.Errorf("%s: %v, %v", c.name, got, ok)
		}
	}
}

func TestSuspectKind(t *testing.T) {
	for want, s := range map[string]*Suspect{
		"": nil, "kill of a server": {Fault: "kill", On: OnServer}, "pause of a client": {Fault: "pause", On: OnClient},
		"slow of the resource": {Fault: "slow", On: OnResource}, "a machine that stood still": {Fault: "stall", On: OnMachine},
	} {
		if got := s.Kind(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestGroupsBySuspect: what different faults brought about are different root causes.
func TestGroupsBySuspect(t *testing.T) {
	v := Verdict{Properties: map[string]Property{Exclusion: {Required: true}}}
	for i, s := range []*Suspect{{Fault: "kill", On: OnServer}, nil, {Fault: "kill", On: OnServer}} {
		v.Anomalies = append(v.Anomalies, Anomaly{Name: "granted-early", Property: Exclusion, Cause: "granted-early", Time: int64(i), Suspect: s})
	}
	g := v.Groups()
	if len(g) != 2 || g[0].Suspect != "kill of a server" || g[0].Count != 2 || g[1].Suspect != "" || g[1].Count != 1 {
		t.Errorf("%+v", g)
	}
}

// TestHabitOf: what a lock does by itself it does beside a fault as well, from the share on that it shows without one.
func TestHabitOf(t *testing.T) {
	at := func(percent ...int64) []Early {
		var out []Early
		for _, p := range percent {
			out = append(out, Early{Lease: 1000, Left: 1000 - 10*p})
		}
		return out
	}
	once := Early{Lease: 1000, Left: 990, Asked: 1}
	for _, c := range []struct {
		name   string
		proofs []Early
		other  Early
		want   bool
	}{
		{"at the same share", at(60, 61, 66), at(60)[0], true},
		{"a little before", at(60, 61, 66), at(58)[0], true},
		{"long after", at(60, 61, 66), at(90)[0], true},
		{"before", at(60, 61, 66), at(57)[0], false},
		{"two that agree", at(60, 62), at(61)[0], false}, // the window is open
		{"two that agree closely", at(60, 61), at(61)[0], true},
		{"two that do not", at(60, 70), at(61)[0], false},
		{"one", at(60), at(60)[0], false},
		{"none", nil, at(60)[0], false},
		{"half of them", append(at(60, 61, 62), at(1, 20, 40)...), at(61)[0], true},
		{"fewer than half", append(at(60, 61, 62), at(1, 10, 20, 40)...), at(61)[0], false},
		{"at once is no share", at(1, 2, 3), at(2)[0], false},
		{"of no known lease", append(at(60, 61, 62), Early{}, Early{}, Early{}, Early{}), at(61)[0], false},
		{"a lease of which nothing is known", at(60, 61, 62), Early{}, false},
		{"two requests at once", []Early{once, once, once}, once, true},
		{"later, where two requests at once are granted", []Early{once, once, once}, at(30)[0], false},
		{"two requests at once, twice", []Early{once, once}, once, false},
	} {
		list := append(append([]Early{}, c.proofs...), c.other)
		if got := HabitOf(list, func(i int) bool { return i < len(c.proofs) })(len(c.proofs)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
