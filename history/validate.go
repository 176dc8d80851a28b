package history

import (
	"fmt"
	"strings"
)

// Validator refuses a history that contradicts itself: what it says would be taken
// for what happened, and a client be accused of it. docs/reference/history.md lists what is
// refused. It takes events in the history's order, in constant time each, and keeps
// eight bytes of each grant and what is still open. Its zero value is ready for use.
// Not safe for concurrent use.
type Validator struct {
	indexes  indexSet
	table    Table[process, *process, grantOf]
	keys     keyNumbers
	values   writtenValues
	faults   map[string]int // open injections, by name and nodes
	locked   *seenAt        // the first event that speaks of a lock
	unlocked *seenAt        // the first operation on the register without a grant
}

// seenAt names an event in errors.
type seenAt struct{ index int64 }

// Check takes the next event, as Stream gives it: what no event can be is refused there.
// An error says what is wrong with it, and the remedy.
func (v *Validator) Check(e *Event) error {
	if err := v.indexes.add(e.Index); err != nil {
		return err
	}
	if err := validNames(e); err != nil {
		return err
	}
	if e.Process == Nemesis {
		return v.fault(e)
	}
	p := v.table.Process(e.Process)
	if e.Machine != p.machine && e.Machine != "" {
		if p.machine != "" {
			return fmt.Errorf("%s is on machine %s, and was on %s before: a process has one clock, so name it apart on each", quote(p.Name), quote(e.Machine), quote(p.machine))
		}
		p.machine = e.Machine
	}
	switch e.F {
	case Acquire:
		v.lock(e)
		return v.acquire(p, e)
	case Release, Renew, Holds, Lost:
		v.lock(e)
		return v.underGrant(p, e)
	case Read, Write, Add:
		if e.Grant == "" {
			return v.withoutLock(p, e)
		}
		v.lock(e)
		return v.underGrant(p, e)
	}
	return fmt.Errorf("unknown f %s of %s: want acquire, release, renew, holds, lost, read, write or add (faults are events of process %q)", quote(e.F), quote(e.Process), Nemesis)
}

// maxName bounds names, in bytes: many anomalies can name one that the file has once.
const maxName = 1 << 10

// validNames refuses names that are longer than that.
func validNames(e *Event) error {
	for _, n := range [...]struct{ what, name string }{
		{"process", e.Process}, {"key", e.Key}, {"grant", e.Grant}, {"f", e.F}, {"machine", e.Machine},
	} {
		if len(n.name) > maxName {
			return tooLong(n.what, n.name)
		}
	}
	for _, n := range e.Nodes {
		if len(n) > maxName {
			return tooLong("node", n)
		}
	}
	return nil
}

func tooLong(what, name string) error {
	return fmt.Errorf("a name of %d bytes (%s %s): shorten it to %d", len(name), what, quote(name), maxName)
}

// quote writes what a file says so that it cannot steer a terminal, nor fill it.
func quote(s string) string { return fmt.Sprintf("%.80q", s) }

// aOr puts an article before an operation's name.
func aOr(f string) string {
	if f == Acquire || f == Add {
		return "an " + f
	}
	return "a " + f
}

func (v *Validator) lock(e *Event) {
	if v.locked == nil {
		v.locked = &seenAt{e.Index}
	}
}

// acquire pairs acquires with their completions. A process has one under way: with
// two, nothing would say which of them an answer is to, and so when it was asked for.
func (v *Validator) acquire(p *process, e *Event) error {
	if v.unlocked != nil {
		return mixed(v.unlocked.index, e.Index)
	}
	id := IDOf(e)
	o, open := p.Open(id)
	if e.Type == Invoke {
		if open && !p.excused(o) {
			return stillOpen(p, o, e)
		}
		p.Invoke(id, p.opened(e))
		return nil
	}
	switch {
	case !open:
		return neverInvoked(e)
	case e.Key != "" && e.Key != o.key:
		return fmt.Errorf("%s completes an acquire of key %s, and had invoked one of key %s (event %d): name the same key", quote(p.Name), quote(e.Key), quote(o.key), o.index)
	case e.Mode != o.mode:
		return fmt.Errorf("%s completes an acquire of mode %s, and had invoked one of mode %s (event %d): write the mode into both", quote(p.Name), quote(e.Mode), quote(o.mode), o.index)
	case e.Permits != o.permits:
		return fmt.Errorf("%s completes an acquire with permits %d, and had invoked one with %d (event %d): write them into both", quote(p.Name), e.Permits, o.permits, o.index)
	}
	p.Complete(id)
	if e.Type != OK {
		return nil
	}
	switch {
	case e.Grant == "":
		return fmt.Errorf("%s was granted key %s without a name: give each grant a \"grant\" of its own, and name it in what is done under it", quote(p.Name), quote(o.key))
	case e.Token < 0:
		return fmt.Errorf("grant %s has the negative token %d: leave it out where there is none", quote(e.Grant), e.Token)
	}
	if err := validLease(e); err != nil {
		return err
	}
	return v.give(p, e, v.keys.of(o.key))
}

// validLease refuses a promise that the history's clock cannot have seen.
func validLease(e *Event) error {
	switch {
	case e.Lease < 0:
		return fmt.Errorf("grant %s has a negative lease", quote(e.Grant))
	case e.Since > e.Time:
		return fmt.Errorf("the lease of %s begins at %d (since), after the event itself at %d: take since from the clock of the other times, before the request is sent", quote(e.Grant), e.Since, e.Time)
	}
	return nil
}

// underGrant checks what is done under a grant: by the process that it was given to, on its key.
func (v *Validator) underGrant(p *process, e *Event) error {
	if v.unlocked != nil {
		return mixed(v.unlocked.index, e.Index)
	}
	if e.Grant == "" {
		return fmt.Errorf("a %s of %s names no grant: name the one that it is about", e.F, quote(p.Name))
	}
	g, err := v.find(p, e)
	if err != nil {
		return err
	}
	if e.Key != "" && v.keys.of(e.Key) != g.key {
		return fmt.Errorf("%s on key %s under grant %s, which is of key %s", aOr(e.F), quote(e.Key), quote(e.Grant), quote(v.keys.names[g.key-1]))
	}
	switch e.F {
	case Lost:
		if e.Type != Info {
			return fmt.Errorf("a lost of type %s: it is a notice, of type info", e.Type)
		}
		return nil
	case Renew:
		// The client library's own renewals have no invoke, and may come while one
		// that was asked for is under way.
		if e.Type == OK {
			return validLease(e)
		}
		return nil
	}
	return v.pair(p, e, g.key, g)
}

// withoutLock checks an operation on the register that names no grant.
func (v *Validator) withoutLock(p *process, e *Event) error {
	if v.locked != nil {
		return mixed(e.Index, v.locked.index)
	}
	if v.unlocked == nil {
		v.unlocked = &seenAt{e.Index}
	}
	return v.pair(p, e, v.keys.of(e.Key), nil)
}

func mixed(without, with int64) error {
	return fmt.Errorf("event %d names no grant, while event %d speaks of a lock: name the grant under which it was done", without, with)
}

// pair joins an operation's completion with its invoke; g is nil where there is no
// lock.
func (v *Validator) pair(p *process, e *Event, key int32, g *grantOf) error {
	id := IDOf(e)
	o, open := p.Open(id)
	switch {
	case e.Type == Invoke && open && !p.excused(o):
		return stillOpen(p, o, e)
	case e.Type == Invoke:
		if e.F == Write || e.F == Add {
			if err := v.values.add(v, p, e, key, g); err != nil {
				return err
			}
		}
		p.Invoke(id, p.opened(e))
	case !open:
		return neverInvoked(e)
	case e.F != Read && e.Value != "" && e.Value != o.value:
		return fmt.Errorf("%s completes %s of value %s, and had invoked one of value %s (event %d)", quote(p.Name), aOr(e.F), quote(e.Value), quote(o.value), o.index)
	default:
		p.Complete(id)
	}
	return nil
}

// stillOpenError is an invoke while the same operation is under way.
type stillOpenError struct {
	process, f string
	index      int64 // of the earlier invoke
}

func (e *stillOpenError) Error() string {
	return fmt.Sprintf("%s invokes %s while its %[2]s of event %d is still open: complete that one (info, if nobody knows what became of it), or record the kill of %[1]s in between", quote(e.process), e.f, e.index)
}

func stillOpen(p *process, o openOp, e *Event) error { return &stillOpenError{p.Name, e.F, o.index} }

func neverInvoked(e *Event) error {
	what := "it has none under way"
	switch {
	case e.F == Acquire:
	case e.Grant != "":
		what = "it has none under way under grant " + quote(e.Grant)
	default:
		what = "it has none under way on key " + quote(e.Key)
	}
	return fmt.Errorf("%s completes (%s) %s without having invoked it before: %s", quote(e.Process), e.Type, aOr(e.F), what)
}

// fault checks the nemesis: what hit whom, and from when to when, excuses and
// accuses.
func (v *Validator) fault(e *Event) error {
	if e.Type != Info {
		return fmt.Errorf("a fault %s of type %s: faults are of type info, with phase begin or end", quote(e.F), e.Type)
	}
	id := e.F + "\x00" + strings.Join(e.Nodes, "\x00")
	switch e.Phase {
	case Begin:
		if v.faults == nil {
			v.faults = map[string]int{}
		}
		v.faults[id]++
		v.dying(e, 1)
	case End:
		if v.faults[id] == 0 {
			return fmt.Errorf("fault %s on %s ends without having begun before: give its begin and its end the same f and nodes", quote(e.F), quote(strings.Join(e.Nodes, ", ")))
		}
		if v.faults[id]--; v.faults[id] == 0 {
			delete(v.faults, id)
		}
		v.dying(e, -1)
	case "":
		// A server that does not start again: the fault has begun and does not end.
		if e.Error != "" && v.faults[id] > 0 {
			return nil
		}
		fallthrough
	default:
		return fmt.Errorf("unknown phase %s of fault %s: want begin or end", quote(e.Phase), quote(e.F))
	}
	return nil
}

// dying notes a kill: what its victims have under way may stay open.
func (v *Validator) dying(e *Event, more int) {
	if kind, _, _ := strings.Cut(e.F, ":"); kind != "kill" {
		return
	}
	for _, n := range e.Nodes {
		p := v.table.Process(n)
		p.Dying += more
		p.kills++
	}
}
