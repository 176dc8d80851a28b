package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
)

// FromEvents takes a history of picklock's own, ordered by time, for a model: a
// lock's acquires and releases, with the tokens as fences and those that are shared as
// reads, or a register's reads and writes. Leases are unknown to models: a lease that ran out looks like a lock
// that was given twice.
// line says where in the file the i-th of them stands.
func FromEvents(events []history.Event, line func(i int) int, m *Model, name string) (*History, error) {
	if slices.Contains([]string{"set", "kv"}, m.Name) {
		return nil, unfit{fmt.Errorf("%s: picklock's own histories have no operations of model %s", name, m.Name)}
	}
	p := &pairing{h: &History{File: name}}
	shares := map[string]bool{} // by grant
	// The token is the grant's: what stands on reads and writes is a copy that nobody vouches for.
	tokens := map[string]int64{}
	read, others := false, "" // an operation of the model, and one of none
	for i := range events {
		e := &events[i]
		if e.Process == history.Nemesis {
			continue
		}
		f := e.F
		if e.Mode == history.Downgrade && slices.ContainsFunc(m.Fs, func(op string) bool { return strings.HasPrefix(op, history.Acquire) }) {
			return nil, unfit{fmt.Errorf("%s: event %d makes a shared grant of an exclusive one (mode %q), which model %s does not know: leave out --model to have it judged", name, e.Index, e.Mode, m.Name)}
		}
		if f == history.Acquire && e.Type == history.OK && e.Mode == history.Shared {
			shares[e.Grant] = true
		}
		if f == history.Acquire && e.Type == history.OK && e.Grant != "" {
			tokens[e.Grant] = max(0, e.Token)
		}
		if m.Name == "rw-lock" && (f == history.Acquire || f == history.Release) {
			f += "-write"
			if e.Mode == history.Shared || e.F == history.Release && shares[e.Grant] {
				f = e.F + "-read"
			}
		}
		if !slices.Contains(m.Fs, f) {
			others = cmp.Or(others, e.F)
			continue
		}
		read = true
		at := At{e.Index, line(i)}
		if e.Type == history.Invoke {
			if old := p.open[e.Process]; old != nil {
				// Its client was killed and came back: nobody learnt what became of it.
				delete(p.open, e.Process)
			}
			o := &Op{Process: e.Process, Owner: e.Process, Key: e.Key, F: f, Arg: text(e.Value), Under: text(e.Value)}
			if m.Name == "fenced-register" {
				o.Fence = tokens[e.Grant]
			}
			if err := p.invoke(o, at); err != nil {
				return nil, &LineError{name, at.Line, err}
			}
			continue
		}
		o, err := p.complete(e.Process, f)
		if err != nil {
			return nil, &LineError{name, at.Line, err}
		}
		switch e.Type {
		case history.Fail:
			p.drop(o)
			continue
		case history.Info:
			p.done(o, Info, at)
			continue
		}
		p.done(o, OK, at)
		switch e.F {
		case history.Acquire:
			o.Fence = max(0, e.Token)
		case history.Read:
			o.Out = "nil"
			if e.Value != "" {
				o.Out = text(e.Value)
			}
			o.Under = o.Out
		}
	}
	if !read && others != "" {
		return nil, unfit{fmt.Errorf("%s: its operations are such as %q, and none of model %s (%s): leave out --model to have it judged", name, others, m.Name, strings.Join(m.Fs, ", "))}
	}
	return p.finish(), nil
}
