package history

import (
	"errors"
	"fmt"
	"io"
)

// spanReader cuts a trace into its spans without reading them: whose they are, and where
// each begins and ends. Members may stand in any order.
type spanReader struct {
	r    io.Reader
	buf  []byte
	i    int // buf[i:] is not read yet
	end  error
	line int
	err  error // sticky
	n    int64 // spans so far

	free   <-chan *batchOfSpans
	emit   func(*batchOfSpans) bool
	closed bool // nobody wants more

	of      *resource       // of the spans that are read; nil as long as it is not known
	waiting []*batchOfSpans // whose resource is not known
	batch   *batchOfSpans
}

// errTrace says what a trace has to be.
var errTrace = errors.New("not a trace in OTLP's JSON form: want an object with resourceSpans")

// run reads to the end.
func (r *spanReader) run() {
	for !r.closed && r.err == nil {
		if _, ok := r.peek(); !ok {
			break // no further document
		}
		r.object(func(name string) {
			if name != "resourceSpans" {
				r.skip(nil)
				return
			}
			r.array(r.resourceSpans)
		})
	}
	r.flush()
	if r.err != nil && !r.closed {
		r.emit(&batchOfSpans{of: &resource{}, err: r.err, errAt: r.line})
	}
}

func (r *spanReader) resourceSpans() {
	r.of, r.waiting = nil, nil
	r.object(func(name string) {
		switch name {
		case "resource":
			res := &resource{line: r.line}
			r.skip(&res.text)
			r.flush()
			r.of = res
			for _, b := range r.waiting {
				b.of = res
				r.send(b)
			}
			r.waiting = nil
		case "scopeSpans":
			r.array(func() {
				r.object(func(name string) {
					if name != "spans" {
						r.skip(nil)
						return
					}
					r.array(r.span)
				})
			})
		default:
			r.skip(nil)
		}
	})
	r.flush()
	for _, b := range r.waiting { // of nobody
		if b.of = (&resource{}); r.err == nil {
			r.send(b)
		}
	}
	r.waiting = nil
}

// span takes one span.
func (r *spanReader) span() {
	if b, ok := r.peek(); ok && b != '{' {
		r.fail(fmt.Errorf("%w: a span that is no object", errTrace))
		return
	}
	if r.batch == nil {
		select {
		case r.batch = <-r.free:
		default:
			r.batch = &batchOfSpans{}
		}
		b := r.batch
		b.of, b.text, b.ends, b.lines, b.number = r.of, b.text[:0], b.ends[:0], b.lines[:0], r.n
	}
	b := r.batch
	b.lines = append(b.lines, r.line)
	r.skip(&b.text)
	b.ends = append(b.ends, len(b.text))
	r.n++
	if len(b.text) >= batchBytes {
		r.flush()
	}
}

// flush sends what there is of a batch. Half a span is none.
func (r *spanReader) flush() {
	b := r.batch
	r.batch = nil
	if b == nil {
		return
	}
	if r.err != nil {
		b.ends = b.ends[:len(b.ends)-1]
	}
	switch {
	case r.of != nil:
		r.send(b)
	case r.err == nil:
		r.waiting = append(r.waiting, b)
	}
}

func (r *spanReader) send(b *batchOfSpans) {
	if !r.closed {
		r.closed = !r.emit(b)
	}
	if r.closed && r.err == nil {
		r.err = io.EOF
	}
}

func (r *spanReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// fill reads on; false at the end of the file.
func (r *spanReader) fill() bool {
	if r.end == nil {
		if r.buf == nil {
			r.buf = make([]byte, 1<<17)
		}
		var n int
		n, r.end = r.r.Read(r.buf[:cap(r.buf)])
		for n == 0 && r.end == nil {
			n, r.end = r.r.Read(r.buf[:cap(r.buf)])
		}
		r.buf, r.i = r.buf[:n], 0
		if n > 0 {
			return true
		}
	}
	if !errors.Is(r.end, io.EOF) {
		r.fail(r.end)
	}
	return false
}

// peek is the next byte that means something; false where there is none.
func (r *spanReader) peek() (byte, bool) {
	for r.err == nil {
		for ; r.i < len(r.buf); r.i++ {
			switch ch := r.buf[r.i]; ch {
			case '\n':
				r.line++
			case ' ', '\t', '\r':
			default:
				return ch, true
			}
		}
		if !r.fill() {
			break
		}
	}
	return 0, false
}

// must eats a byte that has to come next.
func (r *spanReader) must(want byte) bool {
	ch, ok := r.peek()
	switch {
	case r.err != nil:
	case !ok:
		r.fail(fmt.Errorf("%w: it ends in the middle", errTrace))
	case ch != want:
		r.fail(fmt.Errorf("%w: found %q where %q should be", errTrace, ch, want))
	default:
		r.i++
		return true
	}
	return false
}

// object eats an object; member eats the value of each of its members.
func (r *spanReader) object(member func(name string)) {
	if !r.must('{') {
		return
	}
	if ch, _ := r.peek(); ch == '}' {
		r.i++
		return
	}
	for r.err == nil {
		var name []byte
		if ch, _ := r.peek(); ch != '"' {
			r.must('"')
			return
		}
		r.skip(&name)
		if !r.must(':') {
			return
		}
		member(string(name[1 : len(name)-1]))
		if ch, _ := r.peek(); ch == '}' {
			r.i++
			return
		}
		r.must(',')
	}
}

// array eats an array, or the null that stands for an empty one.
func (r *spanReader) array(element func()) {
	if ch, _ := r.peek(); ch == 'n' {
		r.skip(nil)
		return
	}
	if !r.must('[') {
		return
	}
	if ch, _ := r.peek(); ch == ']' {
		r.i++
		return
	}
	for r.err == nil {
		element()
		if ch, _ := r.peek(); ch == ']' {
			r.i++
			return
		}
		r.must(',')
	}
}

// What a byte means to skip.
const (
	isPlainByte = iota
	isQuote
	isOpen
	isClose
	isLine
	isEnd // of a value that is no object, array or string
)

var meaning = func() (t [256]uint8) {
	for ch, m := range map[byte]uint8{'"': isQuote, '{': isOpen, '[': isOpen, '}': isClose, ']': isClose, '\n': isLine, ',': isEnd, ' ': isEnd, '\t': isEnd, '\r': isEnd} {
		t[ch] = m
	}
	return t
}()

// inString are the bytes that mean something inside of a string.
var inString = [256]bool{'"': true, '\\': true, '\n': true}

// skip eats one value, and keeps it in into if that is not nil. That it is well formed is
// for those to see who read it.
func (r *spanReader) skip(into *[]byte) {
	if _, ok := r.peek(); !ok {
		r.fail(fmt.Errorf("%w: it ends in the middle", errTrace))
		return
	}
	depth, quoted, escaped := 0, false, false
	kept := 0
	for {
		from, i, buf := r.i, r.i, r.buf
		done := false
		for i < len(buf) && !done {
			ch := buf[i]
			if quoted {
				switch {
				case escaped:
					escaped = false
				case !inString[ch]:
				case ch == '\\':
					escaped = true
				case ch == '"':
					quoted, done = false, depth == 0
				default:
					r.line++
				}
				i++
				continue
			}
			switch meaning[ch] {
			case isPlainByte:
			case isQuote:
				quoted = true
			case isOpen:
				depth++
			case isClose:
				if depth == 0 { // of what the value stands in
					done = true
					i--
					break
				}
				depth--
				done = depth == 0
			case isLine:
				r.line++
				done = depth == 0
			case isEnd:
				if depth == 0 {
					done = true
					i--
				}
			}
			i++
		}
		if into != nil {
			*into = append(*into, buf[from:i]...)
		}
		r.i = i
		if kept += i - from; kept > maxLine {
			r.fail(fmt.Errorf("a value longer than %d bytes", maxLine))
			return
		}
		if done {
			return
		}
		if !r.fill() {
			if depth > 0 || quoted {
				r.fail(fmt.Errorf("%w: it ends in the middle", errTrace))
			}
			return
		}
	}
}
