package history

import (
	"errors"
	"fmt"
)

// SortFile puts the events of a history file into their true order (see Sort) and
// numbers them anew, in memory that does not grow with the file. It is for files that
// were written as their events arrived, numbered in that order. path is replaced only
// when the whole file is on disk.
func SortFile(path string) error { return sortFile(path, sortChunk) }

func sortFile(path string, size int) (err error) {
	s := newSorter(size)
	defer func() { err = errors.Join(err, s.close()) }()
	if err := (Source{Path: path}).Lines(s.add); err != nil {
		return fmt.Errorf("put the history in order: %w", err)
	}
	return writeFile(path, func(write func(*Event) error) error {
		return s.each(func(e *Event, _ int) error { return write(e) })
	})
}

// InOrder is Lines in the true order of the events (see Sort), whatever that of the file,
// in memory that does not grow with it. It reads all before the first event is observed.
func (s Source) InOrder(observe func(e *Event, line int) error) (err error) {
	if s.Spans {
		return s.spans(observe) // which are sorted as it is
	}
	sorted := newSorter(sortChunk)
	defer func() { err = errors.Join(err, sorted.close()) }()
	if err := s.Lines(sorted.add); err != nil {
		return err
	}
	return sorted.each(func(e *Event, line int) error {
		if err := observe(e, line); err != nil {
			return &LineError{s.String(), line, err}
		}
		return nil
	})
}
