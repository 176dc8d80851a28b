// Package bulk makes histories of any size, of each kind of lock and of each way in which one
// can go wrong. Tests and benchmarks grow them, and look at what judging them takes.
package bulk

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/picklock/picklock/history"
)

// History is one history, with what has to be said of it to have it judged. Times are in ns.
type History struct {
	Events  []history.Event
	Effects []history.Effect // the register's log; nil where there is none
	Skew    int64
	Fair    int64
	NoLock  bool
}

// Kind is a kind of histories.
type Kind struct {
	Name string
	// Make makes one that holds about so many grants or operations.
	Make func(n int) *History
}

// WriteEvents writes the events as JSON lines.
func (h *History) WriteEvents(w io.Writer) error { return lines(w, h.Events) }

// WriteEffects writes the register's log as JSON lines.
func (h *History) WriteEffects(w io.Writer) error { return lines(w, h.Effects) }

func lines[T any](w io.Writer, list []T) error {
	enc := json.NewEncoder(w)
	for i := range list {
		if err := enc.Encode(&list[i]); err != nil {
			return fmt.Errorf("write a history: %w", err)
		}
	}
	return nil
}

const (
	ms = int64(1e6)
	s  = int64(1e9)
)

// maker adds events at a time that goes on.
type maker struct {
	History
	now    int64
	grants map[string]int // by process
	seq    int64
}

func (m *maker) event(e history.Event) {
	m.now += 1000
	m.at(m.now, e)
}

func (m *maker) at(t int64, e history.Event) {
	e.Index, e.Time = int64(len(m.Events)), t
	m.Events = append(m.Events, e)
}

// change is what is particular about an event.
type change func(*history.Event)

func (m *maker) do(process string, typ history.Type, f string, changes ...change) {
	e := history.Event{Process: process, Type: typ, F: f, Key: "k"}
	for _, c := range changes {
		c(&e)
	}
	m.event(e)
}

func grant(id string) change     { return func(e *history.Event) { e.Grant = id } }
func key(k string) change        { return func(e *history.Event) { e.Key = k } }
func mode(mode string) change    { return func(e *history.Event) { e.Mode = mode } }
func permits(n int) change       { return func(e *history.Event) { e.Permits = int64(n) } }
func token(n int) change         { return func(e *history.Event) { e.Token = int64(n) } }
func value(v string) change      { return func(e *history.Event) { e.Value = v } }
func machine(name string) change { return func(e *history.Event) { e.Machine = name } }
func held(e *history.Event)      { e.Held = true }

// lease is promised from the event on, or a little earlier.
func (m *maker) lease(ns int64) change {
	return func(e *history.Event) { e.Since, e.Lease = m.now, ns }
}

func (m *maker) ask(process string, changes ...change) {
	m.do(process, history.Invoke, history.Acquire, changes...)
}

// get has a process granted what it has asked for.
func (m *maker) get(process string, changes ...change) string {
	if m.grants == nil {
		m.grants = map[string]int{}
	}
	m.grants[process]++
	id := fmt.Sprintf("%s.%d", process, m.grants[process])
	m.do(process, history.OK, history.Acquire, append(changes, grant(id))...)
	return id
}

func (m *maker) take(process string, changes ...change) string {
	var asked []change
	for _, c := range changes {
		e := history.Event{}
		if c(&e); e.Key != "" || e.Mode != "" || e.Permits != 0 || e.Machine != "" {
			asked = append(asked, c)
		}
	}
	m.ask(process, asked...)
	return m.get(process, changes...)
}

func (m *maker) release(process, id string, changes ...change) {
	changes = append(changes, grant(id))
	m.do(process, history.Invoke, history.Release, changes...)
	m.do(process, history.OK, history.Release, changes...)
}

func (m *maker) renew(process, id string, ns int64) {
	m.do(process, history.Invoke, history.Renew, grant(id))
	m.do(process, history.OK, history.Renew, grant(id), m.lease(ns))
}

func (m *maker) effect(process, f, id, v string, t int64) {
	m.seq++
	m.Effects = append(m.Effects, history.Effect{Seq: m.seq, Time: t, Process: process, F: f, Key: "k", Grant: id, Value: v, Version: m.seq})
}

func (m *maker) write(process, id, v string) {
	m.do(process, history.Invoke, history.Write, grant(id), value(v))
	m.effect(process, history.Write, id, v, m.now)
	m.do(process, history.OK, history.Write, grant(id), value(v))
}

func (m *maker) read(process, id, v string) {
	m.do(process, history.Invoke, history.Read, grant(id))
	m.effect(process, history.Read, id, v, m.now)
	m.do(process, history.OK, history.Read, grant(id), value(v))
}

func (m *maker) fault(f, phase string, nodes ...string) {
	m.event(history.Event{Process: history.Nemesis, Type: history.Info, F: f, Phase: phase, Nodes: nodes, Confirmed: phase == history.Begin})
}

func client(i int) string { return fmt.Sprintf("c%d", i+1) }

// of makes a kind of histories of what one function adds.
func of(name string, add func(m *maker, n int)) Kind {
	return Kind{name, func(n int) *History {
		m := &maker{}
		add(m, n)
		return &m.History
	}}
}
