package checker

import (
	"fmt"

	"github.com/picklock/picklock/internal/format"
)

// contradiction is what the clients saw that the register's log rules out.
type contradiction struct {
	cause       string
	time        int64
	ops         []*op
	refs        []int32   // of the events that are the evidence
	effects     []*effect // likewise
	explanation string
}

// contradictions compares what the clients of one lock saw with the log. The log is one
// order of all operations; it shows linearizability if every read in it returns
// the latest write, if it keeps to real time, and if it holds every operation that was
// acknowledged and none that failed. All of that is one pass.
func (f *registerFacts) contradictions(log *registerLog, k *lock, ids *names) []contradiction {
	var out []contradiction
	accuse := func(cause string, t int64, ops []*op, refs []int32, effects []*effect, text string, args ...any) {
		out = append(out, contradiction{cause, t, ops, refs, effects, fmt.Sprintf(text, args...)})
	}

	var latest *effect // write
	var newest *effect // the one whose operation was invoked last so far
	for _, e := range log.keys[k.name] {
		if e.op != nil {
			late := newest != nil && e.op.typ == tOK && e.op.endT < newest.op.invT
			if first := e.op.eff; first != e && e.writes() {
				// What was carried out twice in a row, with nothing in between that was sent after its answer, nobody can tell.
				between, refs := latest, []int32{e.op.inv}
				if latest == first && late {
					between, refs = newest, []int32{newest.op.inv, e.op.inv, e.op.comp}
				}
				if between != first {
					accuse("twice", max(e.t, between.t), []*op{e.op}, refs, []*effect{first, between, e},
						"%s's %s of %s took effect twice, at %s and, after %s's %s at %s, at %s",
						e.process(), e.f, shown(e.value), format.Instant(first.t), between.process(), between.f, format.Instant(between.t), format.Instant(max(e.t, between.t)))
				}
			} else if late {
				accuse("order", e.t, []*op{newest.op, e.op}, []int32{newest.op.inv, e.op.inv, e.op.comp}, []*effect{newest, e},
					"the register carried out %s's %s, sent at %s, before %s's %s, which had been answered at %s",
					newest.process(), newest.f, format.Instant(newest.op.invT), e.process(), e.f, format.Instant(e.op.endT))
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
				"%s read %s at %s, but the register had answered %s", e.process(), shown(e.op.value), format.Instant(e.t), shown(e.value))
			continue
		}
		want, because := "", []*effect{e}
		if latest != nil {
			want, because = latest.value, append(because, latest)
		}
		if e.value != want {
			accuse("read", e.t, []*op{e.op}, []int32{e.op.inv}, because,
				"%s read %s at %s, when the register's latest write was %s", e.process(), shown(e.value), format.Instant(e.t), shown(want))
		}
	}
	w := log.witness
	for _, o := range k.ops {
		if o.grant == nil || ids.ambiguous(o.grant.id) || (o.f == fRead && !log.reads) {
			continue
		}
		e := o.eff
		switch {
		case o.typ == tOK && e == nil && w != nil && o.endT < w.op.invT:
			cause, refs, proof := "vanished", []int32{o.inv, o.comp, w.g.ok, w.op.inv}, []*effect{w}
			if o.f == fRead {
				cause = "unlogged"
				if r := log.lastRead; r != nil { // the log has reads
					refs = append(refs, r.g.ok, r.op.inv, r.op.comp)
					if r != w {
						proof = append(proof, r)
					}
				}
			}
			accuse(cause, o.endT, []*op{o}, refs, proof, "the register acknowledged %s's %s at %s, and its log does not hold it", o.process, o.f, format.Instant(o.endT))
		case o.typ == tOK && e == nil:
			f.lost++ // a log that was cut short looks the same
		case o.typ == tFail && e != nil && o.f != fRead:
			accuse("failed", e.t, []*op{o}, []int32{o.inv, o.comp}, []*effect{e}, "%s learnt that its %s of %s had failed, and it took effect at %s", o.process, o.f, shown(o.value), format.Instant(e.t))
		}
	}
	return out
}
