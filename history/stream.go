package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"unicode/utf8"
)

// batchBytes is how much of a file one batch holds: enough that its channels cost
// little, little enough that the records of all in flight (a few times their
// text) stay in a CPU's own cache.
const batchBytes = 1 << 14

// Stream reads a history event by event, in the order of the file, and keeps none
// of it: observe must copy the event if it wants more of it than its strings. An
// error from observe ends the reading and is returned with file and line. Lines
// are decoded on all CPUs; observe is called by the caller's goroutine.
func Stream(r io.Reader, name string, observe func(e *Event, line int) error) error {
	return stream(r, name, fastEvent, func(e *Event, line int) error {
		if err := validEvent(e); err != nil {
			return err
		}
		return observe(e, line)
	})
}

// StreamEffects is Stream for a register's log.
func StreamEffects(r io.Reader, name string, observe func(*Effect) error) error {
	last := int64(0)
	return stream(r, name, fastEffect, func(e *Effect, _ int) error {
		switch {
		case e.Seq <= last:
			return fmt.Errorf("sequence number %d after %d", e.Seq, last)
		case e.F != Read && e.F != Write && e.F != Add:
			return fmt.Errorf("unknown operation %s: want read, write or add", quote(e.F))
		case e.Key == "" || e.Process == "":
			return fmt.Errorf("an effect needs a key and a process")
		case e.Time > maxTime || e.Time < -maxTime:
			return tooLate("time", e.Time)
		case len(e.Key) > maxName:
			return tooLong("key", e.Key)
		case len(e.Process) > maxName:
			return tooLong("process", e.Process)
		case len(e.Grant) > maxName:
			return tooLong("grant", e.Grant)
		}
		last = e.Seq
		return observe(e)
	})
}

// StreamFile is Stream on a file, which may be a gzip file.
func StreamFile(path string, observe func(*Event) error) error {
	return Source{Path: path}.Stream(observe)
}

// Stream is StreamFile on any source.
func (s Source) Stream(observe func(*Event) error) error {
	return s.Lines(func(e *Event, _ int) error { return observe(e) })
}

// Lines is Stream, and says on which line of the file each event stands.
func (s Source) Lines(observe func(e *Event, line int) error) error {
	if s.Spans {
		return s.spans(observe)
	}
	f, err := s.Open()
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	defer f.Close()
	return s.located(Stream(f, s.String(), func(e *Event, line int) error { return observe(e, s.line(line)) }))
}

// StreamEffectsFile is StreamEffects on a file.
func StreamEffectsFile(path string, observe func(*Effect) error) error {
	f, err := Source{Path: path}.Open()
	if err != nil {
		return fmt.Errorf("read register log: %w", err)
	}
	defer f.Close()
	return StreamEffects(f, path, observe)
}

// batch is a run of whole lines on its way from the reader through a decoder
// to the consumer, which takes batches in the order of the file.
type batch[T any] struct {
	text    []byte
	torn    bool // the last line has no newline: a crash may have cut it
	records []T
	lines   int   // whole lines decoded
	err     error // of the line after them
}

// stream decodes one record a line. A last line without a newline that is cut off is what a
// crash leaves behind and is dropped; any other damage is an error.
func stream[T any](r io.Reader, name string, fast func([]byte, *T, *interner) bool, take func(e *T, line int) error) error {
	free := make(chan *batch[T], 4*runtime.GOMAXPROCS(0))
	line := 0
	return ordered(
		func(emit func(*batch[T]) bool) { readBatches(r, free, emit) },
		func() func(*batch[T]) {
			in := &interner{}
			return func(b *batch[T]) { b.decode(fast, in) }
		},
		func(b *batch[T]) error {
			for i := range b.records {
				if err := take(&b.records[i], line+i+1); err != nil {
					return &LineError{name, line + i + 1, err}
				}
			}
			var at *LineError
			if errors.As(b.err, &at) {
				return at // the reader knows better
			}
			if b.err != nil {
				return &LineError{name, line + b.lines + 1, b.err}
			}
			line += b.lines
			select {
			case free <- b:
			default:
			}
			return nil
		})
}

// readBatches cuts what r gives into batches of whole lines, until r ends or emit
// wants no more.
func readBatches[T any](r io.Reader, free <-chan *batch[T], emit func(*batch[T]) bool) {
	var carry []byte
	for {
		var b *batch[T]
		select {
		case b = <-free:
		default:
			b = &batch[T]{}
		}
		b.err, b.torn, b.lines, b.records = nil, false, 0, b.records[:0]
		text := append(b.text[:0], carry...) //nolint:gocritic // its room is used again
		var end int
		var err error
		for {
			if cap(text)-len(text) < batchBytes {
				text = append(make([]byte, 0, len(text)+2*batchBytes), text...)
			}
			from := len(text)
			var n int
			n, err = io.ReadFull(r, text[from:from+batchBytes])
			text = text[:from+n]
			if i := bytes.LastIndexByte(text[from:], '\n'); i >= 0 {
				end = from + i + 1
				break
			}
			if err != nil || len(text) > maxLine {
				end = len(text)
				break
			}
		}
		switch {
		case err == nil && len(text)-end > maxLine, err == nil && end == len(text) && text[end-1] != '\n':
			b.text, b.err = text[:0], fmt.Errorf("line longer than %d bytes", maxLine)
			emit(b)
			return
		case err == nil:
			carry = append(carry[:0], text[end:]...)
			b.text = text[:end]
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			b.text, b.torn = text, len(text) > 0 && text[len(text)-1] != '\n'
			emit(b)
			return
		default:
			b.text, b.err = text[:0], err
			emit(b)
			return
		}
		if !emit(b) {
			return
		}
	}
}

func (b *batch[T]) decode(fast func([]byte, *T, *interner) bool, in *interner) {
	if b.err != nil {
		return // the reader's own
	}
	for text := b.text; len(text) > 0; {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		text = rest
		var zero T
		b.records = append(b.records, zero)
		v := &b.records[len(b.records)-1]
		if !fast(line, v, in) {
			*v = zero
			err := decodeLine(line, v)
			if err != nil {
				b.records = b.records[:len(b.records)-1]
				if !whole && b.torn && cutOff(line, err) {
					return
				}
				b.err = err
				return
			}
		}
		b.lines++
	}
}

// cutOff says that a line has no mistake but that it ends too early: more could follow that
// makes it a record.
func cutOff(line []byte, err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || len(bytes.TrimSpace(line)) == 0
}

func decodeLine(line []byte, v any) error {
	if len(line) > maxLine {
		return fmt.Errorf("line longer than %d bytes", maxLine)
	}
	var object json.RawMessage
	if err := decodeOne(json.NewDecoder(bytes.NewReader(line)), &object); err != nil {
		if !errors.Is(err, io.ErrUnexpectedEOF) && !utf8.Valid(line) {
			return errUTF8
		}
		return err
	}
	if err := encoded(line); err != nil {
		return err
	}
	e, ok := v.(*Event)
	if !ok {
		return ofForm(json.Unmarshal(exactly(object, effectNames), v))
	}
	object = exactly(object, eventNames)
	var former struct{ Landed bool } // formerConfirmed
	if err := errors.Join(json.Unmarshal(object, v), json.Unmarshal(object, &former)); err != nil {
		return ofForm(err)
	}
	e.Confirmed = e.Confirmed || former.Landed
	return nil
}

// ofForm says of what type a member has to be.
func ofForm(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &wrong) || wrong.Field == "":
		return fmt.Errorf("not a JSON object of the expected form: %w", err)
	}
	want := map[reflect.Kind]string{
		reflect.Int64: "a whole number of 64 bits, as 1000000", reflect.Bool: "true or false, without quotes", reflect.Slice: "a list of strings",
	}[wrong.Type.Kind()]
	if strings.HasPrefix(wrong.Field, "nodes") {
		want = "a list of strings"
	}
	return fmt.Errorf("not a JSON object of the expected form: %s is of type %s: want %s", wrong.Field, wrong.Value, cmp.Or(want, "a string"))
}
