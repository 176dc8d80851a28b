package history

import (
	"fmt"
	"slices"
)

// sorter puts events into their true order (see Sort). It keeps all of them in memory. Its
// zero value is ready for use.
type sorter struct {
	events []placed
	block  []Event // where the next events go: one long list would be copied when it grows
}

// placed is an event, and the line of the file on which it stands.
type placed struct {
	*Event
	line int
}

const sorterBlock = 256

// add takes a copy of an event.
func (s *sorter) add(e *Event, line int) {
	if len(s.block) == cap(s.block) {
		s.block = make([]Event, 0, sorterBlock)
	}
	s.block = append(s.block, *e)
	s.events = append(s.events, placed{&s.block[len(s.block)-1], line})
}

// sorted are the events in their order.
func (s *sorter) sorted() []placed {
	order := func(a, b placed) int { return byTimeAt(a.Event, b.Event) }
	if !slices.IsSortedFunc(s.events, order) {
		slices.SortStableFunc(s.events, order)
	}
	return s.events
}

// sorted reads all events of a source, and puts them into their true order.
func (s Source) sorted() ([]placed, error) {
	var all sorter
	err := s.Lines(func(e *Event, line int) error {
		all.add(e, line)
		return nil
	})
	return all.sorted(), err
}

// SortFile puts the events of a history file into their true order (see Sort) and
// numbers them anew. It is for files that were written as their events arrived, numbered in
// that order. It replaces path only when the whole file is on disk.
func SortFile(path string) error {
	events, err := Source{Path: path}.sorted()
	if err != nil {
		return fmt.Errorf("put the history in order: %w", err)
	}
	return writeFile(path, func(write func(*Event) error) error {
		for _, e := range events {
			if err := write(e.Event); err != nil {
				return err
			}
		}
		return nil
	})
}

// InOrder is Lines in the true order of the events (see Sort), whatever that of the file. It
// reads the whole file before it calls observe.
func (s Source) InOrder(observe func(e *Event, line int) error) error {
	if s.Spans {
		return s.spans(observe) // which sorts them in any case
	}
	events, err := s.sorted()
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := observe(e.Event, e.line); err != nil {
			return &LineError{s.String(), e.line, err}
		}
	}
	return nil
}
