package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

// LineError is a line that is not a whole, well-formed record.
type LineError struct {
	File string
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// maxLine bounds one line, so that a hostile file cannot take all memory.
const maxLine = 16 << 20

// ReadFile reads a history, which may be a gzip file. The events come back ordered by
// time, whatever their order in the file: a run that was cut off left them as they
// arrived. What contradicts itself is refused (Validator).
func ReadFile(path string) ([]Event, error) { return Source{Path: path}.Events() }

// Events is ReadFile on any source.
func (s Source) Events() ([]Event, error) {
	if s.Spans {
		return s.readSpans()
	}
	return s.EventsUpTo(math.MaxInt64)
}

// ErrLarge says that a history is larger than was asked for.
var ErrLarge = errors.New("the history is too large")

// EventsUpTo is Events of lines that are together no longer than that, in bytes; ErrLarge
// of a longer history.
func (s Source) EventsUpTo(bytes int64) ([]Event, error) {
	f, err := s.Open()
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	defer f.Close()
	events, err := Decode(&upTo{f, bytes}, s.String())
	return events, s.located(err)
}

// upTo reads so many bytes, and fails where there are more.
type upTo struct {
	r    io.Reader
	left int64
}

func (u *upTo) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, ErrLarge
	}
	return n, err
}

// Decode is ReadFile on any reader; name stands for the file in errors.
func Decode(r io.Reader, name string) ([]Event, error) {
	var events []Event
	if err := Stream(r, name, func(e *Event) error {
		events = append(events, *e)
		return nil
	}); err != nil {
		return nil, err
	}
	lines := sortLines(events)
	var d Duplicates
	var v Validator
	for i := range events {
		err := d.Check(&events[i])
		if err == nil {
			err = v.Check(&events[i])
		}
		if err != nil {
			line := i
			if lines != nil {
				line = int(lines[i])
			}
			return nil, &LineError{name, line + 1, err}
		}
	}
	return events, nil
}

// sortLines is Sort, and returns where each event stood; nil where all stay. Each line
// is one event.
func sortLines(events []Event) []int32 {
	if slices.IsSortedFunc(events, byTime) {
		return nil
	}
	from := make([]int32, len(events))
	for i := range from {
		from[i] = int32(i)
	}
	slices.SortStableFunc(from, func(a, b int32) int { return byTime(events[a], events[b]) })
	// Moved in their place, cycle by cycle: a second list would take as much again.
	to := slices.Clone(from)
	for i := range to {
		if to[i] < 0 {
			continue
		}
		first := events[i]
		for j := i; ; {
			k := int(to[j])
			to[j] = -1
			if k == i {
				events[j] = first
				break
			}
			events[j] = events[k]
			j = k
		}
	}
	return from
}

// Duplicates finds an event that stands in a history twice. A process does one
// thing at a time, so that two events of one process that agree in their time and
// in what they say are one event, written twice; taken for two, they would prove
// what never happened. Its zero value is ready for use.
type Duplicates struct {
	time int64
	seen []seenEvent // at that time
}

type seenEvent struct {
	index                         int64
	process, f, key, grant, value string
	typ                           Type
	phase                         string
}

// maxSameTime bounds how many events of one instant are compared.
const maxSameTime = 64

// Check takes the next event, in the order of time.
func (d *Duplicates) Check(e *Event) error {
	if e.Time != d.time {
		d.time, d.seen = e.Time, d.seen[:0]
	}
	for _, s := range d.seen {
		if s.process == e.Process && s.typ == e.Type && s.f == e.F && s.key == e.Key && s.grant == e.Grant && s.value == e.Value && s.phase == e.Phase && e.Process != Nemesis {
			return fmt.Errorf("event %d and event %d are one event of %s, written twice: remove one of the lines", s.index, e.Index, quote(e.Process))
		}
	}
	if len(d.seen) < maxSameTime {
		d.seen = append(d.seen, seenEvent{e.Index, e.Process, e.F, e.Key, e.Grant, e.Value, e.Type, e.Phase})
	}
	return nil
}

// Sort orders events by time, and by index where times are equal.
func Sort(events []Event) {
	if !slices.IsSortedFunc(events, byTime) {
		slices.SortStableFunc(events, byTime)
	}
}

func byTime(a, b Event) int { return byTimeAt(&a, &b) }

func byTimeAt(a, b *Event) int {
	if a.Time != b.Time {
		return cmp.Compare(a.Time, b.Time)
	}
	return cmp.Compare(a.Index, b.Index)
}

// ReadEffects reads a register's log, in its own order.
func ReadEffects(path string) ([]Effect, error) {
	var effects []Effect
	err := StreamEffectsFile(path, func(e *Effect) error {
		effects = append(effects, *e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return effects, nil
}

func validEvent(e *Event) error {
	switch e.Type {
	case Invoke, OK, Fail, Info:
	default:
		return fmt.Errorf("unknown type %s: want invoke, ok, fail or info", quote(string(e.Type)))
	}
	if e.Process == "" || e.F == "" {
		return fmt.Errorf("an event needs a process and an f")
	}
	switch e.Mode {
	case "", Shared, Nested:
	default:
		return fmt.Errorf("unknown mode %s: want %s or %s", quote(e.Mode), Shared, Nested)
	}
	if e.Permits < 0 {
		return fmt.Errorf("negative number of permits")
	}
	if e.Time < 0 || e.Index < 0 {
		return fmt.Errorf("negative time or index")
	}
	return nil
}

func decodeOne(dec *json.Decoder, v any) error {
	if err := dec.Decode(v); err != nil {
		if err == io.EOF {
			return fmt.Errorf("empty line")
		}
		return fmt.Errorf("not a JSON object of the expected form: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("more than one JSON value on the line")
	}
	return nil
}

// WriteFile writes events as a history file, numbered in their order, and
// replaces path only when the whole file is on disk.
func WriteFile(path string, events []Event) error {
	return writeFile(path, func(write func(*Event) error) error {
		for i := range events {
			if err := write(&events[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeFile is WriteFile of the events that all hands over, one by one.
func writeFile(path string, all func(write func(*Event) error) error) error {
	tmp := path + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	var n int64
	err = all(func(e *Event) error {
		e.Index = n
		n++
		return enc.Encode(e)
	})
	if err == nil {
		err = w.Flush()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return os.Rename(tmp, path)
}
