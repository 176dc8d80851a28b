package history

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Spans of OpenTelemetry, in OTLP's JSON form: one ExportTraceServiceRequest, or several
// one after the other, as a collector's file exporter writes them. A span of a lock's
// operation is two events. Spans come in any order, so they are sorted; and where the
// spans do not say which grant they are about, it is the latest that their process was
// given.

// IsSpans says whether a file that begins so is a trace.
func IsSpans(head []byte) bool {
	c := cursor{b: head}
	return c.open() && string(c.raw()) == "resourceSpans" && !c.bad
}

// batchOfSpans are spans of one resource on their way through a decoder.
type batchOfSpans struct {
	of     *resource
	text   []byte
	ends   []int // of the spans in it
	lines  []int // on which they begin
	number int64 // of the first one in the file
	err    error // of the reader, after them
	errAt  int

	packed packedEvents
	others int      // spans that are of no lock
	names  []string // of some of those
	bad    error
	badAt  int
}

// spans reads a trace as the events that it stands for, in their order and numbered so,
// in memory that does not grow with it. Times count from the first one.
func (s Source) spans(observe func(e *Event, line int) error) (err error) {
	m, err := newSpanMap(s.Columns)
	if err != nil {
		return err
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return fmt.Errorf("read trace: %w", err)
	}
	defer f.Close()
	r, err := Decompress(f)
	if err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	sorted := newSorter(sortChunk)
	defer func() { err = errors.Join(err, sorted.close()) }()
	others, names := 0, []string(nil)
	free := make(chan *batchOfSpans, 4*runtime.GOMAXPROCS(0))
	some := false
	err = ordered(
		func(emit func(*batchOfSpans) bool) { (&spanReader{r: r, line: 1, free: free, emit: emit}).run() },
		func() func(*batchOfSpans) {
			d := &spanEvents{m: m}
			return d.batch
		},
		func(b *batchOfSpans) error {
			if err := sorted.addPacked(&b.packed); err != nil {
				return err
			}
			some = some || len(b.packed.keys) > 0
			others += b.others
			for _, n := range b.names {
				if len(names) < maxNames && !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
			if b.bad != nil {
				return &LineError{s.String(), b.badAt, b.bad}
			}
			if b.err != nil {
				return &LineError{s.String(), b.errAt, b.err}
			}
			select {
			case free <- b:
			default:
			}
			return nil
		})
	if err != nil {
		return err
	}
	if !some && others > 0 {
		return fmt.Errorf("%s: %w: no span is named %s, and none is of %s: they are named %s: say which is what, as with --map acquire=NAME", s, ErrSpans, strings.Join(operations[:2], " or "), Nemesis, strings.Join(names, ", "))
	}
	given := namer{}
	number, first := int64(0), int64(0)
	err = sorted.each(func(e *Event, line int) error {
		if number == 0 && given.passed == 0 {
			first = e.Time
		}
		e.Time -= first
		if e.Since != 0 {
			e.Since -= first
		}
		if !given.name(e) {
			return nil
		}
		e.Index = number
		number++
		if err := observe(e, line); err != nil {
			return &LineError{s.String(), line, err}
		}
		return nil
	})
	if err == nil && s.Note != nil {
		s.note(others, given.passed)
	}
	return err
}

// note says what was passed over.
func (s Source) note(others, passed int) {
	if others > 0 {
		s.Note(fmt.Sprintf("%s: passed over spans that are of no lock: %d", s, others))
	}
	if passed > 0 {
		s.Note(fmt.Sprintf("%s: passed over events of grants from before the trace: %d", s, passed))
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

// batch makes the events of a batch's spans.
func (d *spanEvents) batch(b *batchOfSpans) {
	b.packed.reset()
	b.names, b.others, b.bad = b.names[:0], 0, nil
	res, err := b.of.attributes(d.m)
	if err != nil {
		b.bad, b.badAt = err, b.of.line
		return
	}
	d.in.set(b.text)
	from := 0
	var s span
	for i, to := range b.ends {
		s = span{of: *res}
		err := decodeSpan(b.text[from:to], d.m, &s)
		d.events = d.events[:0]
		if err == nil {
			d.events, err = d.read(&s, b.number+int64(i), d.events)
		}
		if err != nil {
			b.bad, b.badAt = fmt.Errorf("span %s: %w", quote(string(s.id)), err), b.lines[i]
			return
		}
		if len(d.events) == 0 {
			b.others++
			if len(b.names) < maxNames {
				b.names = append(b.names, quote(string(s.name)))
			}
		}
		for j := range d.events {
			b.packed.add(&d.events[j], b.lines[i])
		}
		from = to
	}
}

// namer gives grants a name where a trace does not, and finds the one that an operation
// is about: the latest that its process was given, of the key if it names one.
type namer struct {
	procs  map[string]*grantee
	passed int // events of grants from before the trace
}

type grantee struct {
	granted int
	latest  string            // its latest grant
	byKey   map[string]string // and that of each key
	held    map[string]string // by operation that is under way: its grant
}

// name fills in the grant of an event; false where it is one of before the trace.
func (n *namer) name(e *Event) bool {
	if e.Process == Nemesis {
		return true
	}
	g := n.procs[e.Process]
	if g == nil {
		if n.procs == nil {
			n.procs = map[string]*grantee{}
		}
		g = &grantee{byKey: map[string]string{}}
		n.procs[e.Process] = g
	}
	switch {
	case e.F == Acquire && e.Type == OK:
		g.granted++
		if e.Grant == "" {
			e.Grant = e.Process + "." + strconv.Itoa(g.granted)
		}
		g.latest, g.byKey[e.Key] = e.Grant, e.Grant
		return true
	case e.F == Acquire || e.Grant != "":
		return true
	}
	// An operation is about the grant of when it was asked for.
	id := e.F + "\x00" + e.Key
	under, open := g.held[id]
	if e.Type == Invoke || !open {
		under = g.latest
		if e.Key != "" {
			under = g.byKey[e.Key]
		}
	}
	switch {
	case e.Type != Invoke:
		delete(g.held, id)
	case g.held == nil:
		g.held = map[string]string{id: under}
	default:
		g.held[id] = under
	}
	e.Grant = under
	if under != "" || e.F == Read || e.F == Write || e.F == Add {
		return true // without any grant it may be a register without a lock
	}
	n.passed++
	return false
}

// resource is who made spans.
type resource struct {
	line int
	text []byte
}

// attributes are what a resource says of all its spans.
func (r *resource) attributes(m *spanMap) (*attributes, error) {
	var out attributes
	c := cursor{b: r.text}
	if len(r.text) == 0 {
		return &out, nil
	}
	for more := c.open(); more; more = c.next() {
		switch name := c.name(); {
		case c.null():
		case string(name) == "attributes":
			c.attributes(m, &out)
		default:
			c.skip()
		}
	}
	if !c.done() {
		return nil, errors.New("a resource in another form than OTLP's JSON gives it")
	}
	return &out, nil
}
