package model

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/internal/format"
)

// Linearizable is the one property of a history without leases and registers'
// logs: some order of the operations, in agreement with real time, is one that the
// model allows.
const Linearizable = "linearizable"

const (
	secondTime = time.Second            // for all second opinions
	secondEach = 100 * time.Millisecond // for one
	secondSize = 2000                   // operations, at most
)

// effort is how much is spent on one object: configurations to go over, a few
// hundred bytes each, and Porcupine's time after that. Neither of the two is
// always the better one.
type effort struct {
	room  int
	limit time.Duration
}

var efforts = []effort{{50_000, 300 * time.Millisecond}, {2_000_000, 30 * time.Second}}

// Options says how to check.
type Options struct {
	// Progress, if set, is called now and then with how many of the objects are done.
	Progress func(done, of int)
}

// Check decides whether the history is linearizable by the model. Each key is an
// object of its own. When ctx ends, the verdict is unknown, unless an anomaly was
// found before.
func Check(ctx context.Context, h *History, m *Model, opt Options) (checker.Verdict, error) {
	keys := map[string][]*Op{}
	v := checker.Verdict{Properties: map[string]checker.Property{}, Anomalies: []checker.Anomaly{}}
	v.Stats.Events, v.Stats.Faults = h.Events, map[string]checker.FaultCount{}
	ops := h.Ops
	if m.Name == "fenced-register" {
		ops = h.fenced()
	}
	for _, o := range ops {
		if o.noFence != "" && strings.Contains(m.Name, "fenced") {
			return v, &LineError{h.File, o.fenceLine(), noFence(o.noFence)}
		}
		if !slices.Contains(m.Fs, o.F) {
			return v, &LineError{h.File, o.CallAt.Line, unfit{fmt.Errorf("model %s has no %q: it has %s", m.Name, o.F, strings.Join(m.Fs, ", "))}}
		}
		if m.Name == "set" && o.F == "read" && o.Type == OK && o.Elems == nil && o.Out != "nil" {
			return v, &LineError{h.File, o.ReturnAt.Line, unfit{fmt.Errorf("a read of a set is answered with %.40s: want a list, a vector or a set (no model is a counter)", o.Out)}}
		}
		keys[o.Key] = append(keys[o.Key], o)
		if o.Type == Info {
			v.Stats.Unknown++
		}
	}
	names := make([]string, 0, len(keys))
	for k := range keys {
		names = append(names, k)
	}
	slices.Sort(names)
	var methods [4]int // objects decided by each
	var gaveUp []string
	second, agreed, disagreed, contradicts := secondTime, 0, "", false
	for _, k := range names {
		if shared := strings.HasPrefix(m.Name, "semaphore") || m.Name == "rw-lock"; shared && slices.ContainsFunc(keys[k], func(o *Op) bool { return o.Owner == anybody }) {
			keys[k] = unowned(keys[k]) // nothing says whose permit was released
		}
		slices.SortStableFunc(keys[k], func(a, b *Op) int { return cmp.Compare(a.Call, b.Call) })
	}
	// First a little effort on each object, then more on those that need it, unless
	// the verdict is known by then.
	left := names
	for level := 0; level < len(efforts) && len(left) > 0 && (level == 0 || len(v.Anomalies) == 0); level++ {
		gaveUp = nil
		for i, k := range left {
			if opt.Progress != nil {
				opt.Progress(len(names)-len(left)+i-len(gaveUp), len(names))
			}
			ops := keys[k]
			a, by := decide(ctx, m, k, ops, efforts[level])
			if by == byNobody {
				gaveUp = append(gaveUp, k)
				continue
			}
			methods[by]++
			if a != nil {
				v.Anomalies = append(v.Anomalies, *a)
			}
			if by != bySearch && len(ops) <= secondSize && second > 0 {
				start := time.Now()
				legal, decided := search(ctx, m, ops, min(second, secondEach))
				second -= time.Since(start)
				if decided && legal != (a == nil) {
					disagreed, contradicts = k, true
				} else if decided {
					agreed++
				}
			}
		}
		left = gaveUp
	}
	p := checker.Property{Required: true, Anomalies: len(v.Anomalies), Valid: checker.True}
	objects, undecided := "1 object", ""
	if len(gaveUp) > 0 {
		undecided = fmt.Sprintf("; %d undecided", len(gaveUp))
	}
	if len(names) != 1 {
		objects = fmt.Sprintf("%d objects", len(names))
	}
	p.Why = fmt.Sprintf("%s, %d %s, model %s: %d decided exactly, %d by going over all configurations (Porcupine agrees on %d of them), %d by Porcupine alone%s",
		objects, len(h.Ops), format.Noun(len(h.Ops), "operation", "operations"), m.Name, methods[byExact], methods[bySweep], agreed, methods[bySearch], undecided)
	switch {
	case contradicts:
		p.Valid = checker.Unknown
		p.Why = fmt.Sprintf("THE CHECKER CONTRADICTS ITSELF on key %q, please report it: Porcupine does not agree", disagreed)
	case len(v.Anomalies) > 0:
		p.Valid = checker.False
	case len(gaveUp) > 0:
		p.Valid = checker.Unknown
		p.Why = fmt.Sprintf("gave up on %d of %s: too many operations of unknown outcome, or the time was over", len(gaveUp), objects)
	case len(h.Ops) == 0:
		p.Valid, p.Why = checker.Unknown, "nothing happened"
	}
	v.Properties[Linearizable] = p
	v.Valid = p.Valid
	if p.Valid == checker.Unknown {
		v.Why = p.Why
	}
	return v, nil
}

// unowned is the history with every owner unknown.
func unowned(ops []*Op) []*Op {
	out := make([]*Op, len(ops))
	for i, o := range ops {
		c := *o
		c.Owner = anybody
		out[i] = &c
	}
	return out
}

const (
	byExact = iota
	bySweep
	bySearch
	byNobody
)

func decide(ctx context.Context, m *Model, key string, ops []*Op, e effort) (*checker.Anomaly, int) {
	ops = useful(m, ops)
	if ctx.Err() != nil {
		return nil, byNobody
	}
	if o := neverWritten(m, ops); o != nil {
		return anomaly(m, key, []*Op{o}, nil, byExact), byExact
	}
	if m.exact != nil {
		if evidence, decided := m.exact(m, ops); decided {
			if len(evidence) == 0 {
				return nil, byExact
			}
			return anomaly(m, key, evidence, nil, byExact), byExact
		}
	}
	if broken, decided := sweep(ctx, m, ops, e.room); decided {
		if broken == nil {
			return nil, bySweep
		}
		return anomaly(m, key, shrink(ctx, m, ops, broken), broken, bySweep), bySweep
	}
	if legal, decided := search(ctx, m, ops, e.limit); decided && legal {
		return nil, bySearch
	} else if decided {
		return anomaly(m, key, ops, nil, bySearch), bySearch
	}
	return nil, byNobody
}

// useful leaves out operations of unknown outcome that cannot matter: reads, and
// what nobody can have noticed, since a history that is possible with such an
// operation is possible without it.
func useful(m *Model, ops []*Op) []*Op {
	register := slices.Contains(m.Fs, "write") && m.Name != "fenced-register"
	noticed := map[string]int{} // value, to the last position at which it was
	acts := map[string]int{}    // owner, to the last answer; what anybody did may be any owner's
	for _, o := range ops {
		switch {
		case o.F == "read" && o.Type == OK:
			noticed[o.Out] = max(noticed[o.Out], o.Return)
		case o.F == "cas" && o.Type == Mismatch:
			register = false // anything may have been the other value
		case o.F == "cas":
			noticed[o.Arg] = never
		}
		if o.Type != Info {
			acts[o.Owner] = max(acts[o.Owner], o.Return)
		}
	}
	answered := func(owner string) int { return max(acts[owner], acts[anybody]) }
	return slices.DeleteFunc(slices.Clone(ops), func(o *Op) bool {
		if o.Type != Info {
			return false
		}
		switch o.F {
		case "read", "get":
			return true // also where it would bring a fence, by which others could only be refused
		case "write":
			return register && noticed[o.Arg] < o.Call
		case "cas":
			return register && noticed[o.Arg2] < o.Call
		case "acquire", "acquire-read", "acquire-write":
			return m.Name != "mutex" && o.Owner != anybody && answered(o.Owner) < o.Call
		}
		return false
	})
}

// shrink makes the evidence small: what happened before the last moment at which the
// state was the only possible one is left out, and so is every read without which
// the rest is impossible as well. Both are sound: the rest of an impossible
// history may be possible only if something is left out that changes the state.
func shrink(ctx context.Context, m *Model, ops []*Op, broken *Op) []*Op {
	var prefix []*Op
	for _, o := range ops {
		if o.Call < broken.Return {
			prefix = append(prefix, upTo(o, broken.Return))
		}
	}
	if len(prefix) > 300 {
		return prefix
	}
	for i := 0; i < len(prefix); {
		o := prefix[i]
		if o.F != "read" && o.F != "get" {
			i++
			continue
		}
		less := slices.Delete(slices.Clone(prefix), i, i+1)
		if b, decided := sweep(ctx, m, less, efforts[0].room); decided && b != nil {
			prefix = less
			continue
		}
		i++
	}
	return prefix
}

// upTo is the operation as it was known at a position in the history.
func upTo(o *Op, at int) *Op {
	if o.Return <= at || o.Type == Mismatch { // what changed nothing later, changed nothing before
		return o
	}
	early := *o
	early.Return, early.Type, early.ReturnAt = never, Info, At{}
	return &early
}

func anomaly(m *Model, key string, evidence []*Op, broken *Op, by int) *checker.Anomaly {
	a := &checker.Anomaly{Name: "nonlinearizable", Property: Linearizable, Key: key, Cause: m.Name, Faults: []string{}}
	grants := by == byExact && strings.HasPrefix(evidence[0].F, "acquire") // that they were given is enough
	for _, o := range evidence {
		if !slices.Contains(a.Processes, o.Process) {
			a.Processes = append(a.Processes, o.Process)
		}
		if !grants {
			a.Events = append(a.Events, o.CallAt.Index)
		}
		if o.Return != never {
			a.Events = append(a.Events, o.ReturnAt.Index)
		}
	}
	slices.Sort(a.Events)
	a.Events = slices.Compact(a.Events)
	a.Explanation = explain(evidence, broken, grants)
	return a
}

func explain(evidence []*Op, broken *Op, grants bool) string {
	last := evidence[len(evidence)-1]
	switch {
	case broken != nil:
		return fmt.Sprintf("%s (line %d): no order of the %d operations until line %d agrees with both real time and this answer",
			broken, broken.CallAt.Line, len(evidence), broken.ReturnAt.Line)
	case grants && evidence[0].Return > last.Return:
		what := "after fence %d had been granted to process %s (line %d)"
		if evidence[0].Fence > last.Fence {
			what = "while the lock was held with fence %d by process %s (line %d)"
		}
		return fmt.Sprintf("process %s was granted fence %d (line %d) "+what,
			evidence[0].who(), evidence[0].Fence, evidence[0].ReturnAt.Line, last.Fence, last.who(), last.ReturnAt.Line)
	case grants:
		var who []string
		for _, o := range evidence {
			who = append(who, fmt.Sprintf("process %s (line %d)", o.who(), o.ReturnAt.Line))
		}
		if len(who) == 2 {
			return fmt.Sprintf("%s were both granted the lock before either had released it", format.And(who))
		}
		return fmt.Sprintf("%s were all granted the lock before any of them had released it", format.And(who))
	}
	var parts []string
	for _, o := range evidence {
		if len(parts) == 8 {
			parts = append(parts, fmt.Sprintf("and %d more", len(evidence)-8))
			break
		}
		parts = append(parts, fmt.Sprintf("%s (line %d)", o, o.CallAt.Line))
	}
	return "no order that agrees with real time allows all of: " + strings.Join(parts, "; ")
}
