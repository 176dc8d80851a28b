// Package model checks histories of other tools against sequential models. It
// knows the formats of Jepsen and Porcupine, what each model allows, and which
// algorithm decides it. It knows nothing of leases, registers' logs and faults:
// those are package checker's.
package model

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Outcome is what became of an operation.
type Outcome uint8

// Jepsen's meanings. Mismatch is Porcupine's failed cas: it was carried out, and
// found another value.
const (
	Info Outcome = iota
	OK
	Mismatch
)

// never is the return of an operation that may take effect at any later time.
const never = math.MaxInt

// Op is one operation that took effect, or may have. Those that certainly did not
// are no part of a history.
type Op struct {
	Process string
	Owner   string // who acquires and releases: the process, unless a value names a client
	named   bool   // Owner is a client that a value names
	Key     string // which of several objects
	F       string // acquire, release, read, write, cas, add, get, put, append, ...
	Type    Outcome
	// Values are in their canonical form (see value.String): only texts of equal values are equal.
	Arg   string   // written, added, appended; cas: expected
	Arg2  string   // cas: new
	Out   string   // read
	Elems []string // read of a set
	Fence int64    // fencing token; 0: none
	bare  bool     // Fence is a plain number, which need be no fencing token
	Under string   // of a pair [fence value], the value
	// noFence is what stands where a model with fences has one, and is none; "" if there is no such thing.
	noFence string
	// Call and Return are positions in the order of the history's events.
	Call, Return int
	// CallAt and ReturnAt say where the events stand in the file.
	CallAt, ReturnAt At
}

// At is where an event stands: its own :index where it has one, and its line.
type At struct {
	Index int64
	Line  int
}

func (o *Op) String() string {
	s := fmt.Sprintf("process %s: %s", o.Process, o.F)
	switch o.F {
	case "read", "get":
		s += " -> " + shown(o.Out)
		if o.Elems != nil && o.F == "read" {
			s = fmt.Sprintf("process %s: %s -> a set of %d", o.Process, o.F, len(o.Elems))
		}
	case "cas":
		s += " " + shown(o.Arg) + " to " + shown(o.Arg2)
		if o.Type == Mismatch {
			s += " -> another value"
		}
	case "write", "add", "put", "append":
		s += " " + shown(o.Arg)
	}
	if o.Fence != 0 {
		s += fmt.Sprintf(" (fence %d)", o.Fence)
	}
	if o.Type == Info {
		s += " -> unknown"
	}
	return s
}

// anybody is the owner where nothing says who it was.
const anybody = "\x01"

// who names the owner, or the process where nothing says who that was.
func (o *Op) who() string {
	if o.Owner == anybody {
		return o.Process
	}
	return o.Owner
}

// History is what a file holds.
type History struct {
	File   string
	Ops    []*Op // by call
	Events int
	paired bool // each key was the first of a pair
	// refused are the values of writes that failed: one that is read all the same is no first value.
	refused map[string]bool
}

// fenceLine is where noFence stands.
func (o *Op) fenceLine() int {
	if o.ReturnAt.Line > 0 && (o.F == "acquire" || o.F == "read") {
		return o.ReturnAt.Line
	}
	return o.CallAt.Line
}

// LineError is a line that cannot be part of a history.
type LineError struct {
	File string
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// ErrUnfit says that a history is not of the model that it was to be checked against:
// another model may do.
var ErrUnfit = errors.New("the history is not of this model")

type unfit struct{ error }

func (unfit) Is(target error) bool { return target == ErrUnfit }

// pairing joins invocations and completions, in the order of the history.
type pairing struct {
	h    *History
	open map[string]*Op
	// clients are those that a process's events name.
	clients map[string][]string
}

func (p *pairing) invoke(o *Op, at At) error {
	if p.open == nil {
		p.open = map[string]*Op{}
	}
	if p.open[o.Process] != nil {
		return fmt.Errorf("process %s invokes %s while its %s (line %d) is still open", o.Process, o.F, p.open[o.Process].F, p.open[o.Process].CallAt.Line)
	}
	o.Call, o.Return, o.CallAt = p.h.Events, never, at
	p.h.Events++
	p.h.Ops = append(p.h.Ops, o)
	p.open[o.Process] = o
	return nil
}

// complete takes the invocation of what a process completes.
func (p *pairing) complete(process, f string) (*Op, error) {
	o := p.open[process]
	if o == nil {
		return nil, fmt.Errorf("process %s completes %s that it never invoked", process, aOr(f))
	}
	if o.F != f {
		return nil, fmt.Errorf("process %s completes %s, and had invoked %s (line %d)", process, aOr(f), aOr(o.F), o.CallAt.Line)
	}
	delete(p.open, process)
	return o, nil
}

// aOr puts an article before an operation's name.
func aOr(f string) string {
	if f != "" && strings.ContainsRune("aeiou", rune(f[0])) {
		return "an " + f
	}
	return "a " + f
}

// done marks o as completed.
func (p *pairing) done(o *Op, typ Outcome, at At) {
	o.ReturnAt, o.Type = at, typ
	if typ != Info {
		o.Return = p.h.Events
	}
	p.h.Events++
}

// drop forgets an operation that certainly did not take effect.
func (p *pairing) drop(o *Op) {
	if o.F == "write" || o.F == "cas" {
		if p.h.refused == nil {
			p.h.refused = map[string]bool{}
		}
		value := o.Arg
		if o.F == "cas" { // what it expected is no value that it would have written
			value = o.Arg2
		}
		p.h.refused[value] = true
	}
	o.F = ""
	p.h.Events++
}

// finish leaves out what was dropped.
func (p *pairing) finish() *History {
	kept := p.h.Ops[:0]
	for _, o := range p.h.Ops {
		if o.F != "" {
			kept = append(kept, o)
		}
	}
	p.h.Ops = kept
	return p.h
}
