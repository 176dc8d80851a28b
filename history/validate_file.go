package history

import "errors"

var errDisorder = errors.New("not in order")

// ValidateFile says what is wrong with a history file, as ReadFile does, in memory that
// does not grow with it as long as its events are in order.
func ValidateFile(path string) error {
	var (
		v       Validator
		d       Duplicates
		last    Event
		line    int
		unsound error // nobody knows yet whether the file is in order
	)
	err := StreamFile(path, func(e *Event) error {
		line++
		if line > 1 && byTime(*e, last) < 0 {
			return errDisorder
		}
		last = Event{Time: e.Time, Index: e.Index}
		if unsound != nil {
			return nil //nolint:nilerr // returned once the file's order is known
		}
		err := d.Check(e)
		if err == nil {
			err = v.Check(e)
		}
		if err != nil {
			unsound = &LineError{path, line, err}
		}
		return nil
	})
	if errors.Is(err, errDisorder) {
		_, err = ReadFile(path)
		return err
	}
	if err != nil {
		return err
	}
	return unsound
}
