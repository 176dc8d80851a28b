package history

import (
	"errors"
	"fmt"
	"slices"
)

// spanEvents makes events of spans: an invoke at a span's start, and its outcome at its end.
type spanEvents struct {
	m  *spanMap
	of [slots]*anyValue // of the latest span; nil where no attribute says anything
}

// read appends the events of a span: none if the span is of no lock.
func (d *spanEvents) read(s *span, of *resource, n int64, out []Event) ([]Event, error) {
	d.attributes(s, of)
	f := s.Name
	if d.m.named[atF] {
		f, _ = d.of[atF].text() // a list names no operation
	}
	verb := d.m.verbs[f]
	process, err := d.process()
	switch {
	case process == Nemesis:
		return d.fault(s, f, n, out)
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
	e := Event{Time: s.start, Process: process, Type: Invoke, F: verb, Detail: s.called()}
	if err := d.into(member{atKey, &e.Key}, member{atGrant, &e.Grant}, member{atValue, &e.Value}, member{atMode, &e.Mode},
		member{atError, &e.Error}, member{atMachine, &e.Machine}, member{atToken, &e.Token}, member{atSince, &e.Since},
		member{atLease, &e.Lease}, member{atPermits, &e.Permits}, member{atWatchdog, &e.Watchdog}, member{atExpired, &e.Expired}, member{atLingers, &e.Lingers}, member{atNotifies, &e.Notifies}, member{atHeld, &e.Held}, member{atNotHeld, &e.NotHeld},
		member{atCancelled, &e.Cancelled}, member{atClientFailed, &e.ClientFailed}); err != nil {
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

// attributes finds what stands for each member. A span's own attributes come before its
// resource's.
func (d *spanEvents) attributes(s *span, of *resource) {
	d.of = [slots]*anyValue{}
	for _, list := range [][]attribute{of.Attributes, s.Attributes} {
		for i := range list {
			for _, at := range d.m.attributes[list[i].Key] {
				d.of[at] = &list[i].Value
			}
		}
	}
	for _, at := range d.m.attributes[SpanName] {
		d.of[at] = &anyValue{StringValue: &s.Name}
	}
}

// member is a member of an event, and the attribute that stands for it.
type member struct {
	at slot
	to any
}

// into reads attributes into members, each as its type asks for.
func (d *spanEvents) into(members ...member) (err error) {
	for _, m := range members {
		v := d.of[m.at]
		switch to := m.to.(type) {
		case *string:
			*to, err = v.text()
		case *int64:
			*to, err = v.integer(d.m.digits[m.at], m.at == atSince || m.at == atLease)
		case *bool:
			*to, err = v.truth()
		case *[]string:
			*to, err = v.words()
		}
		if err != nil {
			return fmt.Errorf("the attribute for %s: %w", slotNames[m.at], err)
		}
	}
	return nil
}

// process is the value of the mapped attributes. If none is mapped, it is the resource's
// instance.
func (d *spanEvents) process() (name string, err error) {
	for at := atProcess; at < d.m.parts; at++ {
		var part string
		if err := d.into(member{at, &part}); err != nil {
			return "", err
		}
		if at > atProcess && part != "" {
			name += "/"
		}
		name += part
	}
	if name == "" && !d.m.named[atProcess] {
		return d.of[atInstance].text()
	}
	return name, nil
}

// outcome is the second event. A span that failed may have taken effect: only an
// attribute can say that it certainly did not.
func (d *spanEvents) outcome(s *span, e Event) (Event, error) {
	e.Time, e.Type = s.end, OK
	var said string
	if err := d.into(member{atType, &said}); err != nil {
		return e, err
	}
	switch said {
	case "":
		switch failed := s.Status.Code == "2" || s.Status.Code == "STATUS_CODE_ERROR"; {
		case e.NotHeld && e.F != Holds, e.Cancelled, e.ClientFailed: // which are of failures alone
			e.Type = Fail
		case failed, e.Error != "" && s.Status.Code != "1" && s.Status.Code != "STATUS_CODE_OK":
			e.Type = Info
		}
	case "true":
		e.Type = OK
	case "false":
		e.Type = Fail
	default:
		e.Type = Type(said)
		if !slices.Contains([]Type{OK, Fail, Info}, e.Type) {
			return e, fmt.Errorf("the attribute for type: %s: want ok (or true), fail (or false) or info", quote(said))
		}
	}
	if e.Error == "" {
		e.Error = s.Status.Message
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
	if e.Type == Info || e.Type == OK && e.F != Holds {
		e.NotHeld = false
	}
	if e.Type != OK && e.F == Acquire {
		e.Grant = ""
	}
	return e, nil
}

// pair appends the two events, with an index that orders those of one instant. A process ends
// an operation before it begins another. So the ends of earlier operations come first, then
// operations that take no time, then the beginnings of longer ones.
func pair(s *span, e, done Event, n int64, out []Event) []Event {
	const rank = 1 << 60
	notice := e.NotHeld
	e.Token, e.Since, e.Lease, e.Watchdog, e.Expired, e.Lingers, e.Notifies, e.Held, e.NotHeld, e.Error, e.Cancelled, e.ClientFailed = 0, 0, 0, false, false, false, false, false, false, "", false, false
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
		e.Type, e.NotHeld = Info, notice
		return append(out, e)
	}
	if e.F != Renew || s.end != s.start { // a renewal that takes no time is one that the library tells of
		out = append(out, e)
	}
	if s.end != 0 {
		out = append(out, done)
	}
	return out
}

// fault appends the events of a fault, from a span of the process nemesis.
func (d *spanEvents) fault(s *span, name string, n int64, out []Event) ([]Event, error) {
	if err := s.times(); err != nil {
		return out, err
	}
	e := Event{Time: s.start, Process: Nemesis, Type: Info, F: name, Phase: Begin}
	if err := d.into(member{atNodes, &e.Nodes}, member{atConfirmed, &e.Confirmed}, member{atFault, &e.Fault}, member{atDetail, &e.Detail}); err != nil {
		return out, err
	}
	end := e
	if err := d.into(member{atSince, &end.Since}); err != nil {
		return out, err
	}
	end.Time, end.Phase, end.Confirmed, end.Fault, end.Detail = s.end, End, false, "", ""
	return pair(s, e, end, n, out), nil
}

// times reads a span's times, and says what is wrong with them.
func (s *span) times() (err error) {
	if s.start, err = s.StartTimeUnixNano.nanos(); err != nil {
		return err
	}
	if s.end, err = s.EndTimeUnixNano.nanos(); err != nil {
		return err
	}
	switch {
	case s.start == 0:
		return errors.New("a span without startTimeUnixNano")
	case s.end != 0 && s.end < s.start:
		return fmt.Errorf("it ends %d ns before it begins: its clock was set back, and what was done then cannot be ordered", s.start-s.end)
	}
	return nil
}

// called is what names the span in a history.
func (s *span) called() string {
	if s.SpanID == "" || len(s.SpanID) > 32 || !allHex([]byte(s.SpanID)) {
		return ""
	}
	return "span " + s.SpanID
}
