package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// errTrace says that a file is no trace, or a damaged one.
var errTrace = errors.New("not a trace in OTLP's JSON form: want an object with resourceSpans")

// spanReader finds the spans of a trace. Members may stand in any order.
type spanReader struct {
	name string // of the file, for errors
	in   *lineReader
	dec  *json.Decoder
	take func(*span, *resource) error

	of      *resource // of the spans that are read; nil until it is known
	waiting []*span   // for their resource
}

func newSpanReader(r io.Reader, name string, take func(*span, *resource) error) *spanReader {
	in := &lineReader{r: r, line: 1}
	in.dec = json.NewDecoder(in)
	return &spanReader{name: name, in: in, dec: in.dec, take: take}
}

// read reads to the end.
func (r *spanReader) read() error {
	for {
		err := r.open('{')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = r.members(r.document)
		}
		var at *LineError
		var syntax *json.SyntaxError
		switch {
		case err == nil:
			continue
		case errors.As(err, &at):
			return err
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			err = fmt.Errorf("%w: it ends in the middle", errTrace)
		case errors.As(err, &syntax):
			err = fmt.Errorf("%w: %w", errTrace, err)
		}
		return r.at(r.in.next(), err)
	}
}

func (r *spanReader) at(line int, err error) error { return &LineError{r.name, line, err} }

func (r *spanReader) document(name string) error {
	if name != "resourceSpans" {
		return r.skip()
	}
	return r.array(func() error {
		r.of, r.waiting = nil, nil
		if err := r.object(r.resourceSpans); err != nil || r.of != nil {
			return err
		}
		r.of = &resource{}
		return r.release()
	})
}

func (r *spanReader) resourceSpans(name string) error {
	switch name {
	case "resource":
		line := r.in.next()
		r.of = &resource{}
		err := r.decode(r.of, line)
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			return r.at(line, errors.New("a resource in another form than OTLP's JSON gives it"))
		}
		if err != nil {
			return err
		}
		return r.release()
	case "scopeSpans":
		return r.array(func() error { return r.object(r.scopeSpans) })
	}
	return r.skip()
}

func (r *spanReader) scopeSpans(name string) error {
	if name != "spans" {
		return r.skip()
	}
	return r.array(r.span)
}

func (r *spanReader) span() error {
	s := &span{line: r.in.next()}
	err := r.decode(&s, s.line)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return r.at(s.line, fmt.Errorf("span %s: %w: %s cannot be of type %s", quote(s.SpanID), errForm, wrong.Field, wrong.Value))
	}
	switch {
	case err != nil:
		return err
	case s == nil:
		return fmt.Errorf("%w: null is no span", errTrace)
	case r.of == nil:
		r.waiting = append(r.waiting, s)
		return nil
	}
	return r.take(s, r.of)
}

// decode reads a value whose members are matched exactly.
func (r *spanReader) decode(v any, line int) error {
	var text json.RawMessage
	if err := r.dec.Decode(&text); err != nil {
		return err
	}
	if err := encoded(text); err != nil {
		return r.at(line, err)
	}
	hideForeign(text)
	return json.Unmarshal(text, v)
}

// spanNames are the members that a span and a resource have, at any depth.
var spanNames = []string{
	"spanId", "name", "startTimeUnixNano", "endTimeUnixNano", "attributes", "status", "code", "message", "key", "value",
	"stringValue", "intValue", "doubleValue", "boolValue", "arrayValue", "values", "kvlistValue", "bytesValue",
}

// hideForeign renames the members that encoding/json would take for known ones, as "Name" for
// "name". text is JSON.
func hideForeign(text []byte) {
	c := cursor{b: text}
	for c.i < len(text) {
		if text[c.i] != '"' {
			c.i++
			continue
		}
		from := c.i
		c.skipString()
		quoted := text[from:c.i]
		c.space()
		if c.bad || c.i >= len(text) || text[c.i] != ':' {
			continue
		}
		var name string
		if json.Unmarshal(quoted, &name) != nil || slices.Contains(spanNames, name) {
			continue
		}
		if slices.ContainsFunc(spanNames, func(n string) bool { return strings.EqualFold(n, name) }) {
			for i := range quoted[2:] {
				quoted[i+1] = '_'
			}
		}
	}
}

// release takes the spans that stand before their resource.
func (r *spanReader) release() error {
	for _, s := range r.waiting {
		if err := r.take(s, r.of); err != nil {
			return err
		}
	}
	r.waiting = nil
	return nil
}

// open reads the brace or bracket that has to come next.
func (r *spanReader) open(want json.Delim) error {
	t, err := r.dec.Token()
	if err != nil || t == want {
		return err
	}
	if t == nil {
		return errNull
	}
	found := fmt.Sprint(t)
	if _, ok := t.(json.Delim); ok {
		found = "'" + found + "'"
	}
	return fmt.Errorf("%w: found %.80s where '%v' should be", errTrace, found, want)
}

func (r *spanReader) object(member func(name string) error) error {
	if err := r.open('{'); err != nil {
		return err
	}
	return r.members(member)
}

// members reads the rest of an object; member reads the value of each of its members.
func (r *spanReader) members(member func(name string) error) error {
	for r.dec.More() {
		name, err := r.dec.Token()
		if err != nil {
			return err
		}
		if err := member(fmt.Sprint(name)); err != nil {
			return err
		}
	}
	_, err := r.dec.Token() // the brace
	return err
}

var errNull = fmt.Errorf("%w: found null", errTrace)

// array reads an array, or the null that stands for an empty one.
func (r *spanReader) array(element func() error) error {
	err := r.open('[')
	if errors.Is(err, errNull) {
		return nil
	}
	if err != nil {
		return err
	}
	for r.dec.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err = r.dec.Token() // the bracket
	return err
}

func (r *spanReader) skip() error { return r.dec.Decode(&ignored{}) }

// ignored is a value that nobody reads.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

// lineReader counts the lines that a decoder has read, and bounds what it reads ahead.
type lineReader struct {
	r     io.Reader
	dec   *json.Decoder // reads from here
	got   int64         // bytes
	comma int64         // offset of the latest one, if only space follows it; 0 if not
	ends  []int64       // of lines that are not counted yet
	line  int
}

func (l *lineReader) Read(p []byte) (int, error) {
	if l.got-l.dec.InputOffset() > maxLine {
		return 0, fmt.Errorf("a value longer than %d bytes", maxLine)
	}
	n, err := l.r.Read(p[:min(len(p), 1<<16)])
	for _, ch := range p[:n] {
		switch ch {
		case '\n':
			// The decoder stops at a comma, but what is next begins after the newline.
			l.ends = append(l.ends, cmp.Or(l.comma, l.got))
		case ',':
			l.comma = l.got
		case ' ', '\t', '\r':
		default:
			l.comma = 0
		}
		l.got++
	}
	return n, err
}

// next is the line of what the decoder reads next.
func (l *lineReader) next() int {
	for len(l.ends) > 0 && l.ends[0] <= l.dec.InputOffset() {
		l.ends, l.line = l.ends[1:], l.line+1
	}
	return l.line
}
