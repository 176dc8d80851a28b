package model

import (
	"fmt"
	"slices"

	"github.com/picklock/picklock/history"
)

// FromEvents takes a history of picklock's own, ordered by time, for a model: a
// lock's acquires and releases, with the tokens as fences and those that are shared as
// reads, or a register's reads and writes. Leases are unknown to models: a lease that ran out looks like a lock
// that was given twice.
func FromEvents(events []history.Event, m *Model, name string) (*History, error) {
	if slices.Contains([]string{"set", "kv"}, m.Name) {
		return nil, unfit{fmt.Errorf("%s: picklock's own histories have no operations of model %s", name, m.Name)}
	}
	p := &pairing{h: &History{File: name}}
	shares := map[string]bool{} // by grant
	for i := range events {
		e := &events[i]
		if e.Process == history.Nemesis {
			continue
		}
		f := e.F
		if f == history.Acquire && e.Type == history.OK && e.Mode == history.Shared {
			shares[e.Grant] = true
		}
		if m.Name == "rw-lock" && (f == history.Acquire || f == history.Release) {
			f += "-write"
			if e.Mode == history.Shared || e.F == history.Release && shares[e.Grant] {
				f = e.F + "-read"
			}
		}
		if !slices.Contains(m.Fs, f) {
			continue
		}
		at := At{e.Index, int(e.Index) + 1}
		if e.Type == history.Invoke {
			if old := p.open[e.Process]; old != nil {
				// Its client was killed and came back: nobody learnt what became of it.
				delete(p.open, e.Process)
			}
			o := &Op{Process: e.Process, Owner: e.Process, Key: e.Key, F: f, Arg: e.Value, Under: e.Value}
			if m.Name == "fenced-register" {
				o.Fence = e.Token
			}
			if err := p.invoke(o, at); err != nil {
				return nil, &LineError{name, at.Line, err}
			}
			continue
		}
		o, err := p.complete(e.Process, f)
		if err != nil {
			return nil, fmt.Errorf("%s: event %d: %w", name, e.Index, err)
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
			o.Out = e.Value
			if o.Out == "" {
				o.Out = "nil"
			}
			o.Under = o.Out
		}
	}
	return p.finish(), nil
}
