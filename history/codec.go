package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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

// ReadFile reads a history. The events come back ordered by time, whatever
// their order in the file: a run that was cut off left them as they arrived.
func ReadFile(path string) ([]Event, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	defer f.Close()
	return Decode(f, path)
}

// Decode is ReadFile on any reader; name stands for the file in errors.
func Decode(r io.Reader, name string) ([]Event, error) {
	events, err := readLines(r, name, validEvent)
	if err != nil {
		return nil, err
	}
	Sort(events)
	return events, nil
}

// Sort orders events by time, and by index where times are equal.
func Sort(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int {
		switch {
		case a.Time != b.Time:
			return cmp64(a.Time, b.Time)
		default:
			return cmp64(a.Index, b.Index)
		}
	})
}

func cmp64(a, b int64) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

// ReadEffects reads a register's log, in its own order.
func ReadEffects(path string) ([]Effect, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read register log: %w", err)
	}
	defer f.Close()
	last := int64(0)
	return readLines(f, path, func(e *Effect) error {
		switch {
		case e.Seq <= last:
			return fmt.Errorf("sequence number %d after %d", e.Seq, last)
		case e.F != Read && e.F != Write && e.F != Add:
			return fmt.Errorf("unknown operation %q", e.F)
		case e.Key == "" || e.Process == "":
			return fmt.Errorf("an effect needs a key and a process")
		}
		last = e.Seq
		return nil
	})
}

func validEvent(e *Event) error {
	switch e.Type {
	case Invoke, OK, Fail, Info:
	default:
		return fmt.Errorf("unknown type %q: want invoke, ok, fail or info", e.Type)
	}
	if e.Process == "" || e.F == "" {
		return fmt.Errorf("an event needs a process and an f")
	}
	if e.Time < 0 || e.Index < 0 {
		return fmt.Errorf("negative time or index")
	}
	return nil
}

// readLines decodes one record a line. A last line without a newline that does
// not parse is what a crash leaves behind and is dropped; any other damage is
// an error.
func readLines[T any](r io.Reader, name string, check func(*T) error) ([]T, error) {
	br := bufio.NewReaderSize(r, 1<<20)
	var out []T
	for n := 1; ; n++ {
		line, err := readLine(br)
		if err != nil && err != io.EOF {
			return nil, &LineError{name, n, err}
		}
		torn := err == io.EOF
		if len(line) == 0 && torn {
			return out, nil
		}
		var v T
		dec := json.NewDecoder(bytes.NewReader(line))
		if derr := decodeOne(dec, &v); derr != nil {
			if torn {
				return out, nil
			}
			return nil, &LineError{name, n, derr}
		}
		if cerr := check(&v); cerr != nil {
			return nil, &LineError{name, n, cerr}
		}
		out = append(out, v)
		if torn {
			return out, nil
		}
	}
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

func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("line longer than %d bytes", maxLine)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
}

// WriteFile writes events as a history file, numbered in their order, and
// replaces path only when the whole file is on disk.
func WriteFile(path string, events []Event) error {
	tmp := path + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range events {
		events[i].Index = int64(i)
		if err := enc.Encode(&events[i]); err != nil {
			f.Close()
			return fmt.Errorf("write history: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return fmt.Errorf("write history: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return os.Rename(tmp, path)
}
