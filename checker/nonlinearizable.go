package checker

import (
	"fmt"
	"slices"
)

// findNonlinearizable compares what the clients saw with the register's log. The
// log is one order of all operations; it is a proof of linearizability if every
// read in it returns the latest write, if it keeps to real time, and if it holds
// every operation that was acknowledged and none that failed. All of that is one
// pass. Without a log the reads say which write they saw, since written values
// are unique; see zones.go.
func findNonlinearizable(ix *index) []Anomaly {
	var out []Anomaly
	for _, k := range ix.keys {
		if ix.log == nil {
			out = append(out, ix.zonesOf(k)...)
			continue
		}
		found := ix.logAgainst(k)
		ix.log.broken[k.name] = len(found) > 0
		out = append(out, found...)
	}
	return out
}

func (ix *index) logAgainst(k *lock) []Anomaly {
	var out []Anomaly
	accuse := func(cause string, t int64, ops []*op, places []int32, effects []*effect, format string, args ...any) {
		a := Anomaly{Name: "nonlinearizable", Property: Register, Key: k.name, Time: t, Cause: cause}
		from := t
		var processes []string
		for _, o := range ops {
			processes = append(processes, o.process)
			from = min(from, o.invT)
			places = append(places, o.grant.ok)
			if !slices.Contains(a.Grants, o.grant.id) {
				a.Grants = append(a.Grants, o.grant.id)
			}
		}
		for _, e := range effects {
			a.Effects = append(a.Effects, e.seq)
		}
		a.Events = ix.at(places...)
		a.Explanation = fmt.Sprintf(format, args...)
		out = append(out, ix.finish(a, from, processes...))
	}

	var latest *effect // write
	var newest *effect // the one whose operation was invoked last so far
	for _, e := range ix.log.keys[k.name] {
		if e.op != nil {
			if first := e.op.eff; first != e && e.writes() && latest != first {
				accuse("twice", e.t, []*op{e.op}, []int32{e.op.inv}, []*effect{first, latest, e},
					"%s's %s of %q took effect twice, at %s and, after others had written, at %s", e.process(), e.f, e.value, clock(first.t), clock(e.t))
			}
			if newest != nil && e.op.typ == tOK && e.op.endT < newest.op.invT {
				accuse("order", e.t, []*op{newest.op, e.op}, []int32{newest.op.inv, e.op.inv, e.op.comp}, []*effect{newest, e},
					"the register carried out %s's %s, sent at %s, before %s's %s, which had been answered at %s",
					newest.process(), newest.f, clock(newest.op.invT), e.process(), e.f, clock(e.op.endT))
			}
			if newest == nil || e.op.invT > newest.op.invT {
				newest = e
			}
		}
		if e.writes() {
			latest = e
			continue
		}
		if e.op == nil {
			continue
		}
		if e.op.typ == tOK && e.op.value != e.value {
			accuse("read", e.t, []*op{e.op}, []int32{e.op.inv, e.op.comp}, []*effect{e},
				"%s read %q at %s, but the register had answered %q", e.process(), e.op.value, clock(e.t), e.value)
			continue
		}
		want, because := "", []*effect{e}
		if latest != nil {
			want, because = latest.value, append(because, latest)
		}
		if e.value != want {
			accuse("read", e.t, []*op{e.op}, []int32{e.op.inv}, because,
				"%s read %q at %s, when the register's latest write was %q", e.process(), e.value, clock(e.t), want)
		}
	}
	w := ix.log.witness
	for _, o := range k.ops {
		if o.grant == nil || ix.twice(o.grant.id) || (o.f == fRead && !ix.log.reads) {
			continue
		}
		e := o.eff
		switch {
		case o.typ == tOK && e == nil && w != nil && o.endT < w.op.invT:
			accuse("vanished", o.endT, []*op{o}, []int32{o.inv, o.comp, w.g.ok, w.op.inv}, []*effect{w}, "the register acknowledged %s's %s at %s, and its log does not hold it", o.process, o.f, clock(o.endT))
		case o.typ == tOK && e == nil:
			ix.log.lost++ // a log that was cut short looks the same
		case o.typ == tFail && e != nil && o.f != fRead:
			accuse("failed", e.t, []*op{o}, []int32{o.inv, o.comp}, []*effect{e}, "%s was told that its %s of %q had failed, and it took effect at %s", o.process, o.f, o.value, clock(e.t))
		}
	}
	return out
}
