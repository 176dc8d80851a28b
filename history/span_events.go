package history

import (
	"errors"
	"fmt"
	"slices"
)

// spanEvents makes events of spans: an invoke at a span's start, and what became of it at
// its end. Each CPU has its own.
type spanEvents struct {
	m      *spanMap
	in     spanText
	events []Event // of one span
}

// spanText makes strings of parts of a batch's text, without a copy of each. They are
// packed before the next batch comes.
type spanText struct {
	batch []byte
	text  string // the same
	words interner
}

func (t *spanText) set(batch []byte) { t.batch, t.text = batch, string(batch) }

func (t *spanText) string(b []byte) string {
	// Where a part lies in the text, the room behind it tells.
	at := cap(t.batch) - cap(b)
	if at >= 0 && at+len(b) <= len(t.text) && t.text[at:at+len(b)] == string(b) {
		return t.text[at : at+len(b)]
	}
	return t.words.string(b) // of a resource, or with escapes in it
}

// read takes a span apart. There are no events where the span is of no lock.
func (d *spanEvents) read(s *span, n int64, out []Event) ([]Event, error) {
	f := s.name
	if a := s.of[atF]; d.m.named[atF] && !d.m.byName[atF] {
		f = a.text
	}
	verb := d.m.verbs[string(f)]
	process, err := d.process(s)
	switch {
	case process == Nemesis:
		return d.fault(s, d.in.string(f), n, out)
	case verb == "":
		return out, nil
	case err != nil:
		return out, err
	case process == "":
		return out, fmt.Errorf("%w: who did it is not said: name the attribute (or several, with + between them) with --map process=ATTRIBUTE", ErrSpans)
	}
	if err := s.times(); err != nil {
		return out, err
	}
	e := Event{Time: s.start, Process: process, Type: Invoke, F: verb, Detail: s.called(&d.in)}
	if err := d.members(s, &e); err != nil {
		return out, err
	}
	if verb == Acquire && e.Key == "" {
		return out, fmt.Errorf("%w: which lock it is about is not said: name the attribute with --map key=ATTRIBUTE", ErrSpans)
	}
	done, err := d.outcome(s, e)
	if err != nil {
		return out, err
	}
	return pair(s, e, done, n, out), nil
}

// members fills in what both events say.
func (d *spanEvents) members(s *span, e *Event) error {
	for _, m := range []struct {
		at slot
		to *string
	}{{atKey, &e.Key}, {atGrant, &e.Grant}, {atValue, &e.Value}, {atMode, &e.Mode}, {atError, &e.Error}, {atMachine, &e.Machine}} {
		var err error
		if *m.to, err = d.text(s, m.at); err != nil {
			return d.wrong(m.at, err)
		}
	}
	for _, m := range []struct {
		at slot
		to *int64
	}{{atToken, &e.Token}, {atSince, &e.Since}, {atLease, &e.Lease}, {atPermits, &e.Permits}} {
		var err error
		if *m.to, err = s.of[m.at].integer(d.m.digits[m.at], m.at == atSince || m.at == atLease); err != nil {
			return d.wrong(m.at, err)
		}
	}
	for _, m := range []struct {
		at slot
		to *bool
	}{{atHeld, &e.Held}, {atClientFailed, &e.ClientFailed}} {
		var err error
		if *m.to, err = s.of[m.at].truth(); err != nil {
			return d.wrong(m.at, err)
		}
	}
	return nil
}

func (d *spanEvents) wrong(at slot, err error) error {
	return fmt.Errorf("the attribute for %s: %w", slotNames[at], err)
}

func (d *spanEvents) text(s *span, at slot) (string, error) {
	if d.m.byName[at] {
		return d.in.string(s.name), nil
	}
	return s.of[at].string(&d.in)
}

// process says who did it: what was asked for, else whose the resource is.
func (d *spanEvents) process(s *span) (string, error) {
	name := ""
	for at := atProcess; at < d.m.parts; at++ {
		part, err := d.text(s, at)
		if err != nil {
			return "", d.wrong(atProcess, err)
		}
		if at > atProcess && part != "" {
			name += "/"
		}
		name += part
	}
	if name == "" && !d.m.named[atProcess] {
		return s.of[atInstance].string(&d.in)
	}
	return name, nil
}

// outcome is the second event. A span that failed may have taken effect: only an
// attribute can say that it certainly did not.
func (d *spanEvents) outcome(s *span, e Event) (Event, error) {
	e.Time, e.Type = s.end, OK
	said, err := d.text(s, atType)
	if err != nil {
		return e, d.wrong(atType, err)
	}
	switch said {
	case "":
		if s.failed {
			e.Type = Info
		}
	case "true":
		e.Type = OK
	case "false":
		e.Type = Fail
	default:
		e.Type = Type(said)
		if !slices.Contains([]Type{OK, Fail, Info}, e.Type) {
			return e, d.wrong(atType, fmt.Errorf("%s: want ok (or true), fail (or false) or info", quote(said)))
		}
	}
	if e.Error == "" {
		e.Error = d.in.string(s.message)
	}
	switch {
	case e.Type != OK:
		e.Token, e.Since, e.Lease, e.Held = 0, 0, 0, false
	case e.Lease > 0 && e.Since == 0 && (e.F == Acquire || e.F == Renew):
		e.Since = s.start
	}
	if e.Type == OK {
		e.ClientFailed = false
	}
	if e.Type != OK && e.F == Acquire {
		e.Grant = ""
	}
	return e, nil
}

// pair puts the two events where they belong. Those of one instant are ordered so that a
// process ends what it does before it begins anew: the ends of what had begun before,
// what begins and ends there, and what begins there.
func pair(s *span, e, done Event, n int64, out []Event) []Event {
	const rank = 1 << 60
	e.Token, e.Since, e.Lease, e.Held, e.Error, e.ClientFailed = 0, 0, 0, false, "", false
	if e.F == Acquire {
		e.Grant = ""
	}
	if e.F == Read {
		e.Value = ""
	}
	e.Index, done.Index = 2*n+2*rank, 2*n+1
	if s.end == s.start {
		e.Index, done.Index = 2*n+rank, 2*n+1+rank
	}
	if e.F == Lost { // a notice, from its beginning on
		e.Type = Info
		return append(out, e)
	}
	out = append(out, e)
	if s.end != 0 {
		out = append(out, done)
	}
	return out
}

// fault is what hit somebody, from a span of the process nemesis.
func (d *spanEvents) fault(s *span, name string, n int64, out []Event) ([]Event, error) {
	if err := s.times(); err != nil {
		return out, err
	}
	e := Event{Time: s.start, Process: Nemesis, Type: Info, F: name, Phase: Begin}
	var err error
	if e.Nodes, err = s.of[atNodes].words(); err != nil {
		return out, d.wrong(atNodes, err)
	}
	if e.Landed, err = s.of[atLanded].truth(); err != nil {
		return out, d.wrong(atLanded, err)
	}
	if e.Detail, err = d.text(s, atDetail); err != nil {
		return out, d.wrong(atDetail, err)
	}
	end := e
	end.Time, end.Phase, end.Landed, end.Detail = s.end, End, false, ""
	return pair(s, e, end, n, out), nil
}

// times says what is wrong with a span's times.
func (s *span) times() error {
	switch {
	case s.start == 0:
		return errors.New("a span without startTimeUnixNano")
	case s.end != 0 && s.end < s.start:
		return fmt.Errorf("it ends %d ns before it begins: its clock was set back, and what was done then cannot be ordered", s.start-s.end)
	}
	return nil
}

// called is what names the span in a history.
func (s *span) called(in *spanText) string {
	if len(s.id) == 0 || len(s.id) > 32 || !allHex(s.id) {
		return ""
	}
	return "span " + in.string(s.id)
}
