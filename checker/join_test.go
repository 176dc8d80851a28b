package checker

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plainReads says which read each effect is paired with, -1 for none: for each effect in turn
// the first read that fits it by its time, and then by its outcome alone.
func plainReads(ops []*op, effects []*effect) []int {
	out := make([]int, len(effects))
	taken := make([]bool, len(ops))
	pair := func(i int, fits func(*op) bool) bool {
		j := slices.IndexFunc(ops, func(o *op) bool { return !taken[slices.Index(ops, o)] && fits(o) })
		if out[i] = j; j >= 0 {
			taken[j] = true
		}
		return j >= 0
	}
	for i, e := range effects {
		answer := tOK
		if e.err() != "" {
			answer = tFail
		}
		pair(i, func(o *op) bool { return o.typ == answer && o.invT <= e.t && e.t <= o.endT })
	}
	for i, e := range effects {
		if out[i] < 0 {
			pair(i, func(o *op) bool { return o.typ == tInfo || (o.typ == tOK) == (e.err() == "") })
		}
	}
	return out
}

// TestReadsArePaired: as by looking at all of them, whatever the times.
func TestReadsArePaired(t *testing.T) {
	var m readMatcher
	rapid.Check(t, func(t *rapid.T) {
		var ops []*op
		at := int64(0)
		for range rapid.IntRange(0, 12).Draw(t, "reads") {
			at += rapid.Int64Range(0, 2).Draw(t, "pause")
			o := &op{f: fRead, invT: at, endT: at + rapid.Int64Range(0, 4).Draw(t, "takes"), typ: rapid.SampledFrom([]outcome{tOK, tOK, tFail, tInfo}).Draw(t, "outcome")}
			if rapid.Bool().Draw(t, "one by one") {
				at = o.endT
			}
			ops = append(ops, o)
		}
		var effects []*effect
		for range rapid.IntRange(0, 12).Draw(t, "effects") {
			e := &effect{f: fRead, t: rapid.Int64Range(-1, 24).Draw(t, "time")}
			if rapid.IntRange(0, 3).Draw(t, "refused") == 0 {
				e.rare = &effectRare{err: "no"}
			}
			effects = append(effects, e)
		}
		want := plainReads(ops, effects)
		m.matchReads(ops, effects)
		for i, e := range effects {
			got := -1
			if e.op != nil {
				got = slices.Index(ops, e.op)
			}
			if got != want[i] {
				t.Fatalf("effect %d is of read %d, want %d", i, got, want[i])
			}
		}
	})
}

// TestLogWithoutTimes: what comes later in the register's log was carried out later, so that a write without an outcome has a time after
// what stands before it.
func TestLogWithoutTimes(t *testing.T) {
	in := script(t, `
0.000-0.002 c1 acquire c1.1 token=1 lease=1
0.003-0.004 c1 read c1.1 @0.0035
0.050-0.060 c1 write c1.1 value=a ? @0.125
0.005-0.110 c2 acquire c2.1 since=0.105 token=2 lease=1
0.100-0.101 c1 release c1.1
0.120-0.121 c2 read c2.1 @0.1205
0.200-0.201 c2 release c2.1`)
	for i := range in.Effects {
		in.Effects[i].Time = 0
	}
	v := Check(in)
	i := slices.IndexFunc(v.Anomalies, func(a Anomaly) bool { return a.Name == "stale-write" })
	if i < 0 || v.Anomalies[i].Cause != "after-release" || v.Anomalies[i].Time != 120e6 {
		t.Errorf("found %+v, want a stale write after the release, at 0.12 s", v.Anomalies)
	}
}
