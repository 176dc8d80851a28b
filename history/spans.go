package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Spans of OpenTelemetry, in OTLP's JSON form: one ExportTraceServiceRequest, or several
// one after the other, as a collector's file exporter writes them. A span of a lock's
// operation is two events. Spans stand in any order, so their events are sorted. If a span
// names no grant, it is about the latest grant that its process has not given back.

// IsSpans says whether a file that begins so is a trace.
func IsSpans(head []byte) bool {
	c := cursor{b: head}
	return c.open() && string(c.raw()) == "resourceSpans" && !c.bad
}

// spans reads a trace as the events that it stands for, in their order and numbered so.
// Times count from the first event.
func (s Source) spans(observe func(e *Event, line int) error) error {
	m, err := newSpanMap(s.Columns)
	if err != nil {
		return err
	}
	f, r, err := s.text()
	if err != nil {
		return fmt.Errorf("read trace: %w", err)
	}
	defer f.Close()
	var sorted sorter
	number, some, others, names := int64(0), false, 0, []string(nil)
	d := spanEvents{m: m}
	var events []Event // of one span
	err = newSpanReader(r, s.String(), func(one *span, of *resource) (err error) {
		if events, err = d.read(one, of, number, events[:0]); err != nil {
			return &LineError{s.String(), one.line, fmt.Errorf("span %s: %w", quote(one.SpanID), err)}
		}
		number++
		if some = some || len(events) > 0; len(events) == 0 {
			others++
			if len(names) < maxNames && !slices.Contains(names, quote(one.Name)) {
				names = append(names, quote(one.Name))
			}
		}
		for i := range events {
			sorted.add(&events[i], one.line)
		}
		return nil
	}).read()
	if err != nil {
		return err
	}
	if !some && others > 0 {
		return fmt.Errorf("%s: %w: no span is named %s, and none is of %s: they are named %s: say which is what, as with --map acquire=NAME", s, ErrSpans, strings.Join(operations[:2], " or "), Nemesis, strings.Join(names, ", "))
	}
	given := namer{}
	number = 0
	first := int64(0)
	for _, e := range sorted.sorted() {
		if number == 0 && given.passed == 0 {
			first = e.Time
		}
		e.Time -= first
		if e.Since != 0 {
			e.Since -= first
		}
		if !given.name(e.Event) {
			continue
		}
		e.Index = number
		number++
		err := validTimes(e.Event)
		if err == nil {
			err = observe(e.Event, e.line)
		}
		if err != nil {
			return &LineError{s.String(), e.line, s.Unsound(err)}
		}
	}
	if s.Note != nil {
		s.note(others, given.passed)
	}
	return nil
}

// Unsound is an error of the Validator in words that are of the source: an event of a trace is
// a span's, and not of a number.
func (s Source) Unsound(err error) error {
	open := (*stillOpenError)(nil)
	if !s.Spans || !errors.As(err, &open) {
		return err
	}
	return fmt.Errorf("process %s begins %s before its earlier %[2]s is over: a process does one thing at a time: name it by its threads, too, as with --map process=%s+thread.id", quote(open.process), open.f, instance)
}

// note reports what was passed over.
func (s Source) note(others, passed int) {
	if others > 0 {
		s.Note(fmt.Sprintf("%s: passed over spans that are of no lock: %d", s, others))
	}
	if passed > 0 {
		s.Note(fmt.Sprintf("%s: passed over operations without a grant that the trace shows: %d", s, passed))
	}
}

// maxNames is how many names of spans an error lists.
const maxNames = 5

// readSpans reads a trace as a whole, and says what contradicts itself.
func (s Source) readSpans() ([]Event, error) {
	var events []Event
	var d Duplicates
	var v Validator
	err := s.spans(func(e *Event, _ int) error {
		events = append(events, *e)
		return errors.Join(d.Check(e), v.Check(e))
	})
	return events, err
}
