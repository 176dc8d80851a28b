package checker

import (
	"slices"
	"testing"
)

// TestDur: lengths of time are written with the digits that matter.
func TestDur(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0 ns", 999: "999 ns", 1000: "1 us", 1234: "1.23 us", 45_600: "45.6 us", 999_999: "1000 us", 1e6: "1 ms", 40e6: "40 ms", 589e6: "589 ms",
		1e9: "1 s", 1.294e9: "1.29 s", 12.34e9: "12.3 s", -1500: "-1.5 us", -5: "-5 ns", never: "4611686018.4 s", -never: "-4611686018.4 s", -never - 1: "-4611686018.4 s",
	} {
		if got := dur(ns); got != want {
			t.Errorf("%d: %q, want %q", ns, got, want)
		}
	}
}

// TestGrantWords: a grant is named by its token, else by its id, else not at all.
func TestGrantWords(t *testing.T) {
	for _, c := range []struct {
		g         grant
		with, got string
	}{
		{grant{process: "c1", id: "c1.1", token: 7}, " with token 7", "c1 was granted 7"},
		{grant{process: "c1", id: "c1.1"}, " under c1.1", "c1 was granted the lock (c1.1)"},
		{grant{process: "c1"}, "", "c1 was granted the lock"},
	} {
		if with, got := c.g.with(), c.g.got(); with != c.with || got != c.got {
			t.Errorf("%q and %q, want %q and %q", with, got, c.with, c.got)
		}
	}
	if got := with(nil); got != "" {
		t.Errorf("%q of no grant", got)
	}
}

// TestLeaseWords: how a lease stood, before, at and after its end.
func TestLeaseWords(t *testing.T) {
	renew := func(sent, answered int64) *renewal {
		return &renewal{inv: 1, ok: 2, invT: sent, heldUntil: sent, okT: answered, until: sent + 1e9, lease: 1e9}
	}
	for _, c := range []struct {
		lease   int64 // from 1 s on
		renewal *renewal
		at      int64
		want    string
	}{
		{0, nil, 5e9, ""},
		{1e9, nil, 1.5e9, "; its lease of 1 s had 500 ms left"},
		{1e9, nil, 2e9, "; its lease of 1 s ended just then"},
		{1e9, nil, 2.25e9, "; its lease of 1 s had ended 250 ms before"},
		{0, renew(1e9, 1.1e9), 2.25e9, "; its lease had ended 250 ms before"},
		{1e9, renew(1.5e9, 1.6e9), 2.25e9, "; its lease of 1 s had 250 ms left"},
		{1e9, renew(2.2e9, 2.3e9), 2.25e9, "; its lease of 1 s had 950 ms left"}, // under way
		{1e9, renew(2.3e9, 2.4e9), 2.25e9, "; its lease of 1 s had ended 250 ms before"},
	} {
		g := grant{lock: &lock{}, lease: c.lease, since: 1e9, okT: 1.1e9}
		if c.renewal != nil {
			g.addRenewal(*c.renewal)
		}
		if got := g.leaseWords("its", c.at); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestFaultWords: two faults of each sort are named, the suspect first; the others are
// counted.
func TestFaultWords(t *testing.T) {
	pause := &fault{name: "pause", nodes: []string{"c1"}, begin: 1e9, end: 2e9, ended: true}
	clock := &fault{name: "clock", nodes: []string{"s1", "s2"}, begin: 1e9, end: 3e9}
	kill := &fault{name: "kill", begin: 1.5e9, end: 3e9, ended: true}
	slow := &fault{name: "slow", nodes: []string{"c2", "s1"}, begin: 1.5e9, end: 3e9, ended: true}
	const (
		clocked = "; clock of s1, s2 was on from 1.000 s"
		paused  = "; pause of c1 was on from 1.000 s to 2.000 s"
		none    = "; also on, with no part that this record shows: "
	)
	for _, c := range []struct {
		had, beside []*fault
		want        string
	}{
		{nil, nil, ""},
		{[]*fault{pause, clock}, nil, paused + clocked},
		{[]*fault{clock, pause}, nil, clocked + paused},
		{[]*fault{clock, pause, kill}, nil, clocked + paused + "; one more fault was on"},
		{[]*fault{clock, pause, kill, slow}, nil, clocked + paused + "; 2 more faults were on"},
		{nil, []*fault{kill, slow}, none + "kill, slow of c2, s1"},
		{[]*fault{pause}, []*fault{clock, kill, slow}, paused + none + "clock of s1, s2, kill and 1 more"},
	} {
		var list []fault
		for _, f := range slices.Concat(c.had, c.beside) {
			on := *f
			on.confirmed = true
			list = append(list, on)
		}
		l := newFaultLog(list, 4e9, func(string) bool { return false })
		var had []*fault
		for _, f := range c.had {
			had = append(had, &l.list[slices.IndexFunc(l.list, func(x fault) bool { return x.name == f.name })])
		}
		if got := faultWords(c.had) + (evidence{faults: l}).besides(&Anomaly{Time: 1.8e9}, 1.8e9, had); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
