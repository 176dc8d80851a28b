package history

import (
	"encoding/binary"
	"encoding/json"
	"strings"
)

// The fast decoders read the lines that picklock itself writes, and those that others
// write: with spaces, in another order of the members, with unknown members. For
// every other line they return false, and encoding/json decides: a line has one meaning
// and not two (FuzzFastDecoder compares them).

// cursor walks over one line. bad is sticky: once set, the line is not for the
// fast decoder.
type cursor struct {
	b   []byte
	i   int
	bad bool
	in  *interner
}

// open eats the opening brace, and says whether a member follows.
func (c *cursor) open() bool {
	c.space()
	if c.i >= len(c.b) || c.b[c.i] != '{' {
		c.bad = true
		return false
	}
	c.i++
	c.space()
	if c.i < len(c.b) && c.b[c.i] == '}' {
		c.i++
		return false
	}
	return true
}

// next eats what follows a member's value, and says whether another follows.
func (c *cursor) next() bool {
	c.space()
	if c.bad || c.i >= len(c.b) {
		c.bad = true
		return false
	}
	ch := c.b[c.i]
	c.i++
	c.space()
	if ch == ',' {
		return true
	}
	c.bad = ch != '}'
	return false
}

// done says whether the whole line was eaten.
func (c *cursor) done() bool {
	c.space()
	return !c.bad && c.i == len(c.b)
}

func (c *cursor) space() {
	for c.i < len(c.b) && (c.b[c.i] == ' ' || c.b[c.i] == '\t' || c.b[c.i] == '\r' || c.b[c.i] == '\n') {
		c.i++
	}
}

// plain are the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for ch := 0x20; ch < 0x7f; ch++ {
		t[ch] = ch != '"' && ch != '\\'
	}
	return t
}()

// raw eats a string and returns what it says.
func (c *cursor) raw() []byte {
	b, i := c.b, c.i
	if c.bad || i >= len(b) || b[i] != '"' {
		c.bad = true
		return nil
	}
	i++
	from := i
	for i < len(b) && plain[b[i]] {
		i++
	}
	if i >= len(b) || b[i] != '"' {
		return c.escaped()
	}
	c.i = i + 1
	return b[from:i]
}

// escaped is raw of a string that does not stand for itself: encoding/json knows
// what its escapes stand for.
func (c *cursor) escaped() []byte {
	from := c.i
	c.skipString()
	var s string
	if c.bad || json.Unmarshal(c.b[from:c.i], &s) != nil {
		c.bad = true
		return nil
	}
	return []byte(s)
}

// name eats a member's name and the colon.
func (c *cursor) name() []byte {
	n := c.raw()
	c.space()
	if c.i >= len(c.b) || c.b[c.i] != ':' {
		c.bad = true
		return nil
	}
	c.i++
	c.space()
	return n
}

// eat eats exactly these bytes, if they come next.
func (c *cursor) eat(s string) bool {
	if len(c.b)-c.i < len(s) || string(c.b[c.i:c.i+len(s)]) != s {
		return false
	}
	c.i += len(s)
	return true
}

func (c *cursor) str() string { return c.in.string(c.raw()) }

// typ and word eat the strings of which there are only a few.
func (c *cursor) typ() Type {
	raw := c.raw()
	switch string(raw) {
	case "invoke":
		return Invoke
	case "ok":
		return OK
	case "fail":
		return Fail
	case "info":
		return Info
	}
	return Type(c.in.string(raw))
}

func (c *cursor) word() string {
	raw := c.raw()
	switch string(raw) {
	case "acquire":
		return Acquire
	case "release":
		return Release
	case "read":
		return Read
	case "write":
		return Write
	}
	return c.in.string(raw)
}

func (c *cursor) num() int64 {
	from := c.i
	neg := c.i < len(c.b) && c.b[c.i] == '-'
	if neg {
		c.i++
	}
	first := c.i
	var v int64
	for c.i < len(c.b) && c.b[c.i] >= '0' && c.b[c.i] <= '9' {
		v = v*10 + int64(c.b[c.i]-'0')
		c.i++
	}
	digits := c.i - first
	// A leading zero is no JSON, and more digits may not fit.
	if digits == 0 || digits > 18 || (digits > 1 && c.b[first] == '0') || c.i == from {
		c.bad = true
	}
	if neg {
		return -v
	}
	return v
}

func (c *cursor) boolean() bool {
	rest := c.b[min(c.i, len(c.b)):]
	switch {
	case len(rest) >= 4 && string(rest[:4]) == "true":
		c.i += 4
		return true
	case len(rest) >= 5 && string(rest[:5]) == "false":
		c.i += 5
	default:
		c.bad = true
	}
	return false
}

// null eats the word null, which leaves a member as it is.
func (c *cursor) null() bool {
	return c.i < len(c.b) && c.b[c.i] == 'n' && c.eat("null")
}

// first eats the members that every event begins with, in picklock's own order, with or
// without spaces as Python's json.dumps writes them. It says whether another follows.
func (c *cursor) first(e *Event) bool {
	if !c.eat(`{"index":`) {
		return c.open()
	}
	c.space()
	e.Index = c.num()
	if c.eat(`,"time":`) || c.eat(`, "time":`) {
		c.space()
		e.Time = c.num()
		if c.eat(`,"process":`) || c.eat(`, "process":`) {
			c.space()
			e.Process = c.str()
			if c.eat(`,"type":`) || c.eat(`, "type":`) {
				c.space()
				e.Type = c.typ()
			}
		}
	}
	return c.next()
}

func fastEvent(line []byte, e *Event, in *interner) bool {
	c := cursor{b: line, in: in}
	former := false // the value of formerConfirmed
	for more := c.first(e); more; more = c.next() {
		name := c.name()
		if c.null() {
			if string(name) == "nodes" {
				e.Nodes = nil
			}
			continue
		}
		switch string(name) {
		case "index":
			e.Index = c.num()
		case "time":
			e.Time = c.num()
		case "process":
			e.Process = c.str()
		case "type":
			e.Type = c.typ()
		case "f":
			e.F = c.word()
		case "machine":
			e.Machine = c.str()
		case "key":
			e.Key = c.str()
		case "grant":
			e.Grant = c.str()
		case "token":
			e.Token = c.num()
		case "value":
			e.Value = c.str()
		case "since":
			e.Since = c.num()
		case "lease":
			e.Lease = c.num()
		case "mode":
			e.Mode = c.str()
		case "permits":
			e.Permits = c.num()
		case "watchdog":
			e.Watchdog = c.boolean()
		case "expired":
			e.Expired = c.boolean()
		case "lingers":
			e.Lingers = c.boolean()
		case "notifies":
			e.Notifies = c.boolean()
		case "held":
			e.Held = c.boolean()
		case "not_held":
			e.NotHeld = c.boolean()
		case "error":
			e.Error = c.str()
		case "cancelled":
			e.Cancelled = c.boolean()
		case "client_failed":
			e.ClientFailed = c.boolean()
		case "nodes":
			from := c.i
			c.skip()
			if c.bad || json.Unmarshal(c.b[from:c.i], &e.Nodes) != nil {
				return false
			}
		case "phase":
			e.Phase = c.str()
		case "confirmed":
			e.Confirmed = c.boolean()
		case formerConfirmed:
			former = c.boolean()
		case "fault":
			e.Fault = c.str()
		case "detail":
			e.Detail = c.str()
		default:
			c.skip()
		}
	}
	e.Confirmed = e.Confirmed || former
	return c.done()
}

func fastEffect(line []byte, e *Effect, in *interner) bool {
	c := cursor{b: line, in: in}
	for more := c.open(); more; more = c.next() {
		name := c.name()
		if c.null() {
			continue
		}
		switch string(name) {
		case "seq":
			e.Seq = c.num()
		case "time":
			e.Time = c.num()
		case "process":
			e.Process = c.str()
		case "f":
			e.F = c.word()
		case "key":
			e.Key = c.str()
		case "grant":
			e.Grant = c.str()
		case "token":
			e.Token = c.num()
		case "value":
			e.Value = c.str()
		case "parent":
			e.Parent = c.str()
		case "version":
			e.Version = c.num()
		case "highest":
			e.Highest = c.num()
		case "error":
			e.Error = c.str()
		default:
			c.skip()
		}
	}
	return c.done()
}

// interner turns bytes into strings, most often into one that it made a moment
// ago. Strings share blocks of memory, so that ten million of them do not burden
// the garbage collector; its table has one place a hash, so it never grows.
type interner struct {
	table [1 << 12]string
	block strings.Builder
}

const blockSize = 1 << 15

// hashSlot4096 spreads strings by their length and their first and last eight bytes.
func hashSlot4096(b []byte) uint64 {
	var first, last uint64
	if n := len(b); n >= 8 {
		first, last = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	} else {
		for _, ch := range b {
			first = first<<8 | uint64(ch)
		}
	}
	h := (first ^ uint64(len(b))) * 0x9e3779b97f4a7c15
	h = (h ^ h>>32 ^ last) * 0xd6e8feb86659fd93
	return h >> 52
}

func (in *interner) string(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	slot := &in.table[hashSlot4096(b)]
	if *slot == string(b) {
		return *slot
	}
	if len(b) > blockSize/16 {
		return string(b) // would waste the rest of a block
	}
	if in.block.Cap()-in.block.Len() < len(b) {
		in.block = strings.Builder{}
		in.block.Grow(blockSize)
	}
	from := in.block.Len()
	in.block.Write(b)
	s := in.block.String()[from:]
	*slot = s
	return s
}
