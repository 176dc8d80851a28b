package checker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/picklock/picklock/internal/format"
)

// cluster is a write and all reads that returned its value.
type cluster struct {
	value      string
	write      *op // nil for the value before the first write
	first      *op // whose answer came first
	last       *op // whose invoke came last
	minRet     int64
	maxInv     int64
	conclusive bool // at least one of its operations was answered
}

// zonesOf decides whether a key's reads and writes are linearizable when every
// written value is unique, from the clients' view alone (Gibbons and Korach,
// Testing Shared Memories, 1997): all operations on one value form a cluster; one
// cluster must come before another if one of its operations was answered before
// one of the other's was invoked; the history is linearizable if and only if no
// read precedes its write and no two clusters must each come before the other. A
// write of unknown outcome that nobody read never took effect, as far as anyone
// can tell; one that was read did.
func zonesOf(an *analysis, k *lock) []Anomaly {
	var out []Anomaly
	accuse := func(cause string, ops []*op, text string, args ...any) {
		a := Anomaly{Key: k.name, Cause: cause}
		from := an.last
		var refs []int32
		var processes []string
		for _, o := range ops {
			if o == nil {
				continue
			}
			a.Time = max(a.Time, o.endT)
			from = min(from, o.invT)
			refs = append(refs, o.inv, o.comp)
			processes = append(processes, o.process)
		}
		a.Events = an.evidence.at(refs...)
		a.Explanation = fmt.Sprintf(text, args...)
		out = append(out, an.evidence.finish(a, from, an.suspects.touched(resourceStake(from, a.Time, processes)), processes...))
	}

	zones, bad := clusters(k.ops)
	first := heldAtFirst(k.ops)
	for r := range inTime(an.limit, first.unexplained(bad)) {
		switch {
		case r.failed != nil:
			accuse("failed", []*op{r.read, r.failed}, "%s learnt at %s that its %s of %s had failed, and %s read it at %s",
				r.failed.process, format.Instant(r.failed.endT), r.failed.f, shown(r.read.value), r.read.process, format.Instant(r.read.endT))
		case r.write == nil:
			why, since := first.against(r.read), ""
			if r.read.value == first.value {
				since = fmt.Sprintf("; if it was there at first, it no longer was: %s of %s had been answered at %s", why.f, shown(why.value), format.Instant(why.endT))
			}
			accuse("unwritten", []*op{r.read, why}, "%s read %s at %s, which nobody had written%s", r.read.process, shown(r.read.value), format.Instant(r.read.endT), since)
		default:
			accuse("order", []*op{r.read, r.write}, "%s read %s at %s, before its write was sent at %s", r.read.process, shown(r.read.value), format.Instant(r.read.endT), format.Instant(r.write.invT))
		}
	}
	for p := range inTime(an.limit, crossings(zones)) {
		a, b := p[0], p[1]
		accuse("order", []*op{a.write, b.write, a.first, a.last, b.first, b.last},
			"%s and %s were each seen before the other: %s, and %s; %s, and %s",
			a.words(), b.words(), a.answered(), b.sent(), b.answered(), a.sent())
	}
	return out
}

func (c *cluster) words() string {
	if c.write == nil {
		return "the first value"
	}
	return fmt.Sprintf("the value %s", shown(c.value))
}

// answered says when an operation on the value was answered first.
func (c *cluster) answered() string {
	if c.write == nil {
		return c.words() + " at the start"
	}
	return c.words() + " in what was answered at " + format.Instant(c.minRet)
}

// sent says when an operation on the value was sent last.
func (c *cluster) sent() string {
	return c.words() + " in what was sent at " + format.Instant(c.maxInv)
}

// orphan is a read that cannot have happened: write was sent after it, or failed, as its client learnt.
type orphan struct{ read, write, failed *op }

func clusters(ops []*op) ([]*cluster, []orphan) {
	initial := &cluster{minRet: -1, maxInv: -1}
	byValue := map[string]*cluster{"": initial}
	var list []*cluster
	failed := map[string]*op{}
	for _, o := range ops {
		if o.f != fRead && o.typ == tFail {
			failed[o.value] = o
		}
		if o.f == fRead || o.typ == tFail {
			continue
		}
		c := &cluster{value: o.value, write: o, last: o, maxInv: o.invT, minRet: never}
		if o.typ == tOK {
			c.first, c.minRet, c.conclusive = o, o.endT, true
		}
		byValue[o.value] = c
		list = append(list, c)
	}
	var bad []orphan
	for _, o := range ops {
		if o.f != fRead || o.typ != tOK {
			continue
		}
		c := byValue[o.value]
		if c == nil {
			bad = append(bad, orphan{read: o, failed: failed[o.value]})
			continue
		}
		if c.write != nil && o.endT < c.write.invT {
			bad = append(bad, orphan{read: o, write: c.write})
			continue
		}
		c.conclusive = true
		if o.endT < c.minRet {
			c.first, c.minRet = o, o.endT
		}
		if o.invT > c.maxInv {
			c.last, c.maxInv = o, o.invT
		}
	}
	list = append(list, initial)
	return slices.DeleteFunc(list, func(c *cluster) bool { return c != initial && !c.conclusive }), bad
}

// crossings returns pairs of clusters that must each precede the other: at least
// one such pair if there is any. Of two that conflict, one at least is a forward
// zone (an operation answered before another of its own was invoked).
func crossings(list []*cluster) [][2]*cluster {
	var forward, backward []*cluster
	for _, c := range list {
		if c.minRet < c.maxInv {
			forward = append(forward, c)
		} else {
			backward = append(backward, c)
		}
	}
	slices.SortStableFunc(forward, func(a, b *cluster) int { return cmp.Compare(a.minRet, b.minRet) })
	var out [][2]*cluster
	furthest := make([]*cluster, len(forward))
	for i, c := range forward {
		furthest[i] = c
		if i == 0 {
			continue
		}
		f := furthest[i-1]
		if f.minRet < c.maxInv && c.minRet < f.maxInv {
			out = append(out, [2]*cluster{f, c})
		}
		if f.maxInv >= c.maxInv {
			furthest[i] = f
		}
	}
	for _, c := range backward {
		n, _ := slices.BinarySearchFunc(forward, c.maxInv, func(f *cluster, t int64) int {
			if f.minRet < t {
				return -1
			}
			return 1
		})
		if n > 0 && furthest[n-1].maxInv > c.minRet {
			out = append(out, [2]*cluster{furthest[n-1], c})
		}
	}
	return out
}

// RegisterOp is one operation on a register whose written values are unique, for
// histories that come from elsewhere.
type RegisterOp struct {
	Write       bool
	Value       string // "" is what the register holds before the first write
	Call, Reply int64  // Reply is ignored where Unknown
	Unknown     bool   // a write that may have taken effect, at Call or later
}

// CheckRegister returns the positions in ops of some that contradict each other, few
// but not always fewest; nil if the operations, which are ordered by Call, are
// linearizable. It takes O(n log n), and is exact if no value is written twice
// and none is "".
func CheckRegister(ops []RegisterOp) []int {
	position := map[*op]int{}
	list := make([]*op, len(ops))
	for i, r := range ops {
		o := &op{f: fRead, typ: tOK, value: r.Value, invT: r.Call, endT: r.Reply}
		if r.Write {
			o.f = fWrite
		}
		if r.Unknown {
			o.typ, o.endT = tInfo, never
		}
		list[i] = o
		position[o] = i
	}
	zones, orphans := clusters(list)
	var evidence []*op
	if len(orphans) > 0 {
		evidence = []*op{orphans[0].read, orphans[0].write}
	} else if pairs := crossings(zones); len(pairs) > 0 {
		a, b := pairs[0][0], pairs[0][1]
		evidence = []*op{a.write, a.first, a.last, b.write, b.first, b.last}
	}
	var out []int
	for _, o := range evidence {
		if o != nil {
			out = append(out, position[o])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
