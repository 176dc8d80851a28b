package model

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// jepsenEvent is one map of a Jepsen history.
type jepsenEvent struct {
	line            int
	index           int64
	hasIndex        bool
	process, typ, f string
	key             string
	value           value
	client          string // by :debug, where it is not in the value
}

// ReadJepsen reads a Jepsen history: a vector of maps, or maps one after another.
// Events that all have an :index are put into its order; else the file's order
// counts. A fail did not take effect, an info may have. A history may be empty.
func ReadJepsen(r io.Reader, name string) (*History, error) {
	d := newEDN(r)
	var events []jepsenEvent
	fail := func(line int, err error) (*History, error) { return nil, &LineError{name, line, err} }
	var named *LineError // the first event of a process with a name, which is no client's
	add := func(v value) error {
		e, ok, err := newEvent(v)
		if p := v.get("process"); err == nil && !ok && p.text != "nemesis" && named == nil {
			named = &LineError{name, v.line, fmt.Errorf("no event is of a client: a client's :process is a number, and this one is %.40s", p)}
		}
		if err == nil && ok {
			events = append(events, e)
		}
		return err
	}
	for {
		b, err := d.skip()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fail(d.line, err)
		}
		if b == '[' || b == '(' {
			end := map[byte]byte{'[': ']', '(': ')'}[b]
			for {
				b, err := d.skip()
				if err != nil {
					return fail(d.line, more(err))
				}
				if b == end {
					break
				}
				v, ok, err := d.value(b)
				if err == nil && ok {
					err = add(v)
				}
				if err != nil {
					return fail(d.line, err)
				}
			}
			continue
		}
		v, ok, err := d.value(b)
		if err == nil && ok {
			err = add(v)
		}
		if err != nil {
			return fail(d.line, err)
		}
	}
	if len(events) == 0 && named != nil {
		return nil, named
	}
	return joined(events, name)
}

// joined puts events into their order, and invocations and completions together.
func joined(events []jepsenEvent, name string) (*History, error) {
	if err := order(events); err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	keyed := separateKeys(events)
	p := &pairing{h: &History{File: name, paired: keyed}}
	for i := range events {
		e := &events[i]
		if keyed {
			e.key, e.value = e.value.items[0].String(), e.value.items[1]
		}
		if err := p.event(e); err != nil {
			return nil, &LineError{name, e.line, err}
		}
	}
	h := p.finish()
	p.ownAll()
	return h, nil
}

func newEvent(v value) (jepsenEvent, bool, error) {
	if v.kind != kMap {
		return jepsenEvent{}, false, fmt.Errorf("want a map for each event, found %.40s", v)
	}
	process, typ, f, index := v.get("process"), v.get("type"), v.get("f"), v.get("index")
	if process.kind == kKeyword {
		return jepsenEvent{}, false, nil // :nemesis
	}
	e := jepsenEvent{line: v.line, process: process.String(), typ: typ.text, f: f.text, value: v.get("value")}
	if k := v.get("key"); k.kind != kNil {
		e.key = k.String()
	}
	if c := v.get("debug").get("client"); c.kind != kNil {
		e.client = c.String()
	}
	e.index, e.hasIndex = index.n, index.whole
	switch {
	case process.kind == kNil:
		return e, false, errors.New("an event without a :process")
	case f.text == "":
		return e, false, errors.New("an event without an :f")
	case e.typ != "invoke" && e.typ != "ok" && e.typ != "fail" && e.typ != "info":
		return e, false, fmt.Errorf("unknown :type %q: want invoke, ok, fail or info", e.typ)
	}
	return e, true, nil
}

// order puts the events into the order of their :index, if all have one. Without one
// the file's order is the order. An :index need only rise: what was filtered out of a
// history leaves gaps. :time is no order: Jepsen reads the clock before it writes an
// event down, so that two threads can do so in different orders.
func order(events []jepsenEvent) error {
	all := !slices.ContainsFunc(events, func(e jepsenEvent) bool { return !e.hasIndex })
	if all {
		slices.SortStableFunc(events, func(a, b jepsenEvent) int { return cmp.Compare(a.index, b.index) })
	}
	var last *jepsenEvent // the latest with an index
	for i := range events {
		e := &events[i]
		switch {
		case !e.hasIndex:
			continue
		case last != nil && e.index == last.index:
			return fmt.Errorf("%d: :index %d stands on line %d as well", e.line, e.index, last.line)
		case last != nil && e.index < last.index:
			return fmt.Errorf("%d: :index %d after %d (line %d), where other events have none: give every event an :index, or none", e.line, e.index, last.index, last.line)
		}
		last = e
	}
	return nil
}

// valueless are the operations that are invoked without a value.
var valueless = []string{"read", "get", "acquire", "release", "acquire-read", "release-read", "acquire-write", "release-write"}

// separateKeys says whether all values are pairs of a key and a value, as those of
// jepsen.independent are: what asks for no value is invoked with [key nil], and what a lock is asked for, with who asks.
func separateKeys(events []jepsenEvent) bool {
	seen := false
	for _, e := range events {
		pair := e.value.kind == kList && !e.value.set && len(e.value.items) == 2
		if !pair {
			return false
		}
		f, of := cmp.Or(verbs[e.f], e.f), e.value.items[1]
		who := f != "read" && f != "get" && (of.kind == kMap || of.kind == kString)
		if e.typ == "invoke" && (of.kind == kNil || who) && slices.Contains(valueless, f) {
			seen = true
		}
	}
	return seen
}

// fenced is the history for a fenced register: only the model shows that the firsts
// of all pairs are fences and not keys. Pairs in pairs are both.
func (h *History) fenced() []*Op {
	if !h.paired {
		return h.Ops
	}
	out := make([]*Op, len(h.Ops))
	for i, o := range h.Ops {
		fence, err := strconv.ParseInt(o.Key, 10, 64)
		if err != nil || fence < 0 || o.Under != "" {
			return h.Ops
		}
		c := *o
		c.Key, c.Fence, c.Under = "", fence, o.Arg
		if c.F == "read" {
			c.Under = o.Out
		}
		out[i] = &c
	}
	return out
}

// verbs are the names by which tests call the same thing.
var verbs = map[string]string{
	"lock": "acquire", "unlock": "release", "w": "write", "r": "read", "compare-and-set": "cas",
	"read-lock": "acquire-read", "read-unlock": "release-read", "write-lock": "acquire-write", "write-unlock": "release-write",
}

func (p *pairing) event(e *jepsenEvent) error {
	f := e.f
	if v := verbs[f]; v != "" {
		f = v
	}
	at := At{e.index, e.line}
	if !e.hasIndex {
		at.Index = int64(e.line)
	}
	if e.typ == "invoke" {
		o := &Op{Process: e.process, Owner: e.process, Key: e.key, F: f}
		p.names(o, e)
		if err := o.asked(e.value); err != nil {
			return err
		}
		return p.invoke(o, at)
	}
	o, err := p.complete(e.process, f)
	if err != nil {
		return err
	}
	if o.Key != e.key && e.key != "" {
		return fmt.Errorf("process %s completes its %s on key %s, invoked on %s (line %d)", e.process, f, e.key, o.Key, o.CallAt.Line)
	}
	p.names(o, e)
	switch e.typ {
	case "fail":
		p.drop(o)
		return nil
	case "info":
		p.done(o, Info, at)
		return nil
	}
	p.done(o, OK, at)
	return o.answered(e.value)
}

// names takes the client that an event of a lock names as the owner. Jepsen's tests name it in the answer, as a rule.
func (p *pairing) names(o *Op, e *jepsenEvent) {
	client := e.client
	if c := e.value.get("client"); c.kind != kNil {
		client = c.String()
	}
	if client == "" {
		return
	}
	if p.clients == nil {
		p.clients = map[string][]string{}
	}
	if !slices.Contains(p.clients[e.process], client) {
		p.clients[e.process] = append(p.clients[e.process], client)
	}
	o.Owner, o.named = client, true
}

// ownAll finds the owners that no event names, where others are named: a process that crashed goes on under another number, and its client under the
// same name. Who asked is the process's one client; else, if no answer would have said so, anybody may have.
func (p *pairing) ownAll() {
	if len(p.clients) == 0 {
		return
	}
	answered := map[string]bool{}
	for _, o := range p.h.Ops {
		answered[o.Process] = answered[o.Process] || o.Type == OK
	}
	for _, o := range p.h.Ops {
		switch names := p.clients[o.Process]; {
		case o.named, len(names) == 0 && answered[o.Process]:
		case len(names) == 1:
			o.Owner = names[0]
		default:
			o.Owner = anybody
		}
	}
}

// asked reads an invocation's value.
func (o *Op) asked(v value) error {
	switch o.F {
	case "read":
		if v.versioned() || v.kind == kList && len(v.items) == 2 && v.items[1].versioned() {
			return errors.New("a read of [nil nil]: values are [version value], of a register that counts its versions: no model has that")
		}
	case "cas":
		if v.kind != kList || len(v.items) != 2 {
			return fmt.Errorf("a cas needs [expected new], has %.40s", v)
		}
		o.Arg, o.Arg2 = v.items[0].String(), v.items[1].String()
	case "write", "put", "append", "add":
		o.Arg = v.String()
		o.fenced(v)
	}
	return nil
}

// versioned says whether v is what is asked of a register that counts its versions.
func (v value) versioned() bool {
	return v.kind == kList && !v.set && len(v.items) == 2 && v.items[0].kind == kNil && v.items[1].kind == kNil
}

// answered reads a completion's value.
func (o *Op) answered(v value) error {
	switch o.F {
	case "acquire":
		fence := v.get("fence")
		switch {
		case fence.kind != kNil && !fence.whole, v.kind == kNumber && !v.whole:
			return badFence(fence, v)
		case v.kind == kString:
			o.noFence = v.String() // only a model with fences takes it for one
		}
		if v.whole {
			o.Fence, o.bare = v.n, true
		}
		if fence.whole {
			o.Fence, o.bare = fence.n, false
		}
		if o.Fence < 0 {
			return fmt.Errorf("a negative fence %d", o.Fence)
		}
	case "read", "get":
		o.Out = v.String()
		o.fenced(v)
		if v.kind == kList {
			o.Elems = []string{}
			for _, i := range v.items {
				o.Elems = append(o.Elems, i.String())
			}
		}
	}
	return nil
}

// badFence is the error of a fence, or of the value that stands for it, which is no integer.
func badFence(fence, v value) error {
	if fence.kind == kNil {
		fence = v
	}
	return noFence(fence.String())
}

func noFence(text string) error {
	return fmt.Errorf("a fence %.40s: want a whole number from 0 to 9223372036854775807", text)
}

// fenced takes a pair [fence value] apart, as the fenced register has them.
func (o *Op) fenced(v value) {
	if v.kind != kList || v.set || len(v.items) != 2 {
		return
	}
	switch fence := v.items[0]; {
	case fence.whole && fence.n >= 0:
		o.Fence, o.Under = fence.n, v.items[1].String()
	case fence.kind == kNumber || fence.kind == kString:
		o.noFence = fence.String() // only the fenced register takes it for one
	}
}
