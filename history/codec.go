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
	"path/filepath"
	"slices"
	"syscall"
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
	events, _, err := decode(r, name)
	return events, err
}

// EventsAt is Events, and says on which line of the file each stands.
func (s Source) EventsAt() (events []Event, at func(i int) int, err error) {
	if s.Spans {
		events, err = s.readSpans()
		return events, func(i int) int { return i + 1 }, err // two events have the line of their span
	}
	f, err := s.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("read history: %w", err)
	}
	defer f.Close()
	events, lines, err := decode(f, s.String())
	return events, func(i int) int {
		return s.line(lines[i])
	}, s.located(err)
}

// decode is Decode, and says on which line each event stands.
func decode(r io.Reader, name string) (events []Event, lines []int, err error) {
	var all sorter
	err = Stream(r, name, func(e *Event, line int) error {
		all.add(e, line)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	var d Duplicates
	var v Validator
	events, lines = slices.Grow(events, len(all.events)), slices.Grow(lines, len(all.events))
	for _, e := range all.sorted() {
		err := d.Check(e.Event)
		if err == nil {
			err = v.Check(e.Event)
		}
		if err != nil {
			return nil, nil, &LineError{name, e.line, err}
		}
		events, lines = append(events, *e.Event), append(lines, e.line)
	}
	return events, lines, nil
}

// Duplicates finds an event that stands in a history twice. A process does one
// thing at a time, so that two events of one process that agree in their time and
// in what they say are one event, written twice; taken for two, they would show
// what never happened. A coarse clock gives two tries the same time: they are two where
// the process said something else between them, and where neither was granted or written
// what no other can be. Its zero value is ready for use.
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

// same says that the two differ in their index at most.
func (s seenEvent) same(o seenEvent) bool {
	s.index = o.index
	return s == o
}

// once says that there can be only one such event: a grant is given once, and no two writes
// are of one value.
func (s seenEvent) once() bool {
	switch s.f {
	case Acquire:
		return s.typ == OK && s.grant != ""
	case Write, Add:
		return s.value != ""
	}
	return false
}

// maxSameTime bounds how many events of one instant are compared.
const maxSameTime = 64

// Check takes the next event, in the order of time.
func (d *Duplicates) Check(e *Event) error {
	if e.Time != d.time {
		d.time, d.seen = e.Time, d.seen[:0]
	}
	now := seenEvent{e.Index, e.Process, e.F, e.Key, e.Grant, e.Value, e.Type, e.Phase}
	latest := true // of the process, at this time
	for _, s := range slices.Backward(d.seen) {
		if s.process != e.Process || e.Process == Nemesis {
			continue
		}
		if s.same(now) && (latest || now.once()) {
			return fmt.Errorf("event %d and event %d are one event of %s, written twice: remove one of the lines", s.index, e.Index, quote(e.Process))
		}
		latest = false
	}
	if len(d.seen) < maxSameTime {
		d.seen = append(d.seen, now)
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
	if e.Type == "" && e.Process == "" && e.F == "" {
		return errors.New(`not an event: want {"type": .., "process": .., "f": ..} as in picklock's history.jsonl`)
	}
	switch e.Type {
	case Invoke, OK, Fail, Info:
	default:
		return fmt.Errorf("unknown type %s: want invoke, ok, fail or info", quote(string(e.Type)))
	}
	if e.Process == "" || e.F == "" {
		return fmt.Errorf("an event needs a process and an f")
	}
	switch e.Mode {
	case "", Shared, Nested, Downgrade:
	default:
		return fmt.Errorf("unknown mode %s: want %s, %s or %s", quote(e.Mode), Shared, Nested, Downgrade)
	}
	if e.Permits < 0 {
		return fmt.Errorf("negative number of permits")
	}
	if e.Time < 0 || e.Index < 0 {
		return fmt.Errorf("negative time or index")
	}
	return validTimes(e)
}

// maxTime bounds times and leases, in ns: 73 years. The checker adds and subtracts them.
const maxTime = int64(1)<<61 - 1

// validTimes refuses a time that the checker cannot compute with.
func validTimes(e *Event) error {
	switch {
	case e.Time > maxTime:
		return tooLate("time", e.Time)
	case e.Since > maxTime || e.Since < -maxTime:
		return tooLate("since", e.Since)
	case e.Lease > maxTime:
		return fmt.Errorf("a lease of %d ns, which is more than %d (73 years): leave it out where no time is promised, and write it in nanoseconds where one is", e.Lease, maxTime)
	}
	return nil
}

func tooLate(what string, ns int64) error {
	return fmt.Errorf("%s %d is beyond %d (73 years): write nanoseconds since the run's start, of one clock", what, ns, maxTime)
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

// writeFile is WriteFile of the events that all writes, one by one.
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
	if err == nil {
		err = f.Sync() // a rename that outlives a crash must not name a file that does not
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder puts a folder's names on the disk. Where folders cannot be synced, as on some
// network file systems, they are there as far as a program can tell.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}
