package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// attribute is what an attribute of a span says; its text is part of the file's.
type attribute struct {
	kind valueKind
	text []byte
}

type valueKind uint8

const (
	noValue valueKind = iota
	aString
	aNumber // an integer, or a number with a point
	aTruth
	aList // of strings: an array's JSON
	anOther
)

// attributes are what was found for each slot.
type attributes [slots]attribute

// span is one span, as it stands in the file.
type span struct {
	id, name   []byte
	start, end int64 // ns since 1970; end is 0 where there is none
	failed     bool
	message    []byte
	of         attributes
}

// errForm says that a span has another form than OTLP's JSON gives it.
var errForm = errors.New("not a span in OTLP's JSON form (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding)")

// decodeSpan reads one span. What its resource says is in s.of before.
func decodeSpan(text []byte, m *spanMap, s *span) error {
	c := cursor{b: text}
	for more := c.open(); more; more = c.next() {
		name := c.name()
		if c.null() {
			continue
		}
		switch string(name) {
		case "spanId":
			s.id = c.raw()
		case "name":
			s.name = c.raw()
		case "startTimeUnixNano":
			s.start = c.nanos()
		case "endTimeUnixNano":
			s.end = c.nanos()
		case "attributes":
			c.attributes(m, &s.of)
		case "status":
			c.status(s)
		default:
			c.skip()
		}
	}
	if c.done() {
		return nil
	}
	var any json.RawMessage
	if err := json.Unmarshal(text, &any); err != nil {
		return fmt.Errorf("%w: %w", errForm, err)
	}
	return errForm
}

// nanos eats a fixed64: a string of digits, or a number.
func (c *cursor) nanos() int64 {
	text := c.digitsOf()
	if n, ok := digitsOnly(text); ok {
		return n
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 {
		c.bad = true
	}
	return n
}

// digitsOf eats a number, in quotes or not.
func (c *cursor) digitsOf() []byte {
	if c.i < len(c.b) && c.b[c.i] == '"' {
		return c.raw()
	}
	from := c.i
	c.skipNumber()
	return c.b[from:c.i]
}

// elements eats a list, each of whose elements is eaten by one.
func (c *cursor) elements(one func()) {
	if !c.eat("[") {
		c.bad = true
		return
	}
	c.space()
	if c.eat("]") {
		return
	}
	for {
		one()
		c.space()
		switch {
		case c.bad:
			return
		case c.eat("]"):
			return
		case !c.eat(","):
			c.bad = true
			return
		}
		c.space()
	}
}

// attributes eats a list of attributes, and keeps those that stand for something.
func (c *cursor) attributes(m *spanMap, into *attributes) {
	c.elements(func() {
		var key []byte
		var v attribute
		for more := c.open(); more; more = c.next() {
			switch name := c.name(); {
			case c.null():
			case string(name) == "key":
				key = c.raw()
			case string(name) == "value":
				v = c.value()
			default:
				c.skip()
			}
		}
		wanted := m.attributes[string(key)]
		for at := slot(0); wanted != 0; at, wanted = at+1, wanted>>1 {
			if wanted&1 != 0 {
				into[at] = v
			}
		}
	})
}

// value eats an attribute's value: an object with one member that names its type.
func (c *cursor) value() attribute {
	var v attribute
	for more := c.open(); more; more = c.next() {
		switch name := c.name(); {
		case c.null():
		case string(name) == "stringValue":
			v = attribute{aString, c.raw()}
		case string(name) == "intValue", string(name) == "doubleValue":
			v = attribute{aNumber, c.digitsOf()}
		case string(name) == "boolValue":
			v = attribute{aTruth, []byte("false")}
			if c.boolean() {
				v.text = []byte("true")
			}
		case string(name) == "arrayValue":
			from := c.i
			c.skip()
			v = attribute{aList, c.b[min(from, c.i):c.i]}
		default:
			c.skip()
			v = attribute{kind: anOther}
		}
	}
	return v
}

func (c *cursor) status(s *span) {
	for more := c.open(); more; more = c.next() {
		switch name := c.name(); {
		case c.null():
		case string(name) == "code":
			code := c.digitsOf()
			s.failed = string(code) == "2" || string(code) == "STATUS_CODE_ERROR"
		case string(name) == "message":
			s.message = c.raw()
		default:
			c.skip()
		}
	}
}

// text is the value as a member that is a string has it.
func (a attribute) string(in *spanText) (string, error) {
	switch a.kind {
	case noValue, aString, aNumber, aTruth:
		return in.string(a.text), nil
	}
	return "", errors.New("it is neither a text, a number nor a truth")
}

// integer is the value as a member that is a number has it. digits are those that its
// unit has less than a nanosecond; what is finer is cut off.
func (a attribute) integer(digits int, duration bool) (int64, error) {
	if a.kind == noValue || len(a.text) == 0 {
		return 0, nil
	}
	if a.kind == aString || a.kind == aNumber {
		if n, ok := digitsOnly(a.text); ok && digits == 0 {
			return n, nil
		}
		if n, ok := scaled(string(a.text), digits, duration); ok {
			return n, nil
		}
	}
	if d, err := time.ParseDuration(string(a.text)); err == nil && duration && a.kind == aString {
		return int64(d), nil
	}
	return 0, fmt.Errorf("%s is no number that fits", quote(string(a.text)))
}

// digitsOnly is a number of few enough digits to fit, and nothing else.
func digitsOnly(text []byte) (n int64, ok bool) {
	if len(text) == 0 || len(text) > 18 {
		// A time since 1970 has 19: the first of them is a 1 until the year 2033.
		if len(text) != 19 || text[0] != '1' {
			return 0, false
		}
	}
	for _, ch := range text {
		if ch < '0' || ch > '9' {
			return 0, false
		}
		n = n*10 + int64(ch-'0')
	}
	return n, true
}

// scaled is a decimal number times a power of ten, cut off at the point. A number that is
// no time has to be whole.
func scaled(text string, digits int, cut bool) (int64, bool) {
	whole, part, _ := strings.Cut(text, ".")
	if strings.ContainsAny(text, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		f *= math.Pow10(digits)
		if err != nil || math.Abs(f) >= 1<<53 || !cut && f != math.Trunc(f) {
			return 0, false
		}
		return int64(math.Floor(f)), true
	}
	if whole == "" || strings.Trim(part, "0123456789") != "" || !cut && strings.Trim(part, "0") != "" {
		return 0, false
	}
	rest := part[min(len(part), digits):]
	part = (part + strings.Repeat("0", digits))[:digits]
	n, err := strconv.ParseInt(whole+part, 10, 64)
	if err != nil {
		return 0, false
	}
	if strings.HasPrefix(whole, "-") && strings.Trim(rest, "0") != "" {
		n-- // down, not towards 0
	}
	return n, true
}

// truth is the value as a member that is true or false has it.
func (a attribute) truth() (bool, error) {
	if a.kind == noValue || len(a.text) == 0 {
		return false, nil
	}
	b, err := strconv.ParseBool(string(a.text))
	if err != nil || a.kind != aString && a.kind != aTruth {
		return false, fmt.Errorf("%s is neither true nor false", quote(string(a.text)))
	}
	return b, nil
}

// words is the value as a list of strings.
func (a attribute) words() ([]string, error) {
	if a.kind != aList {
		return strings.Fields(string(a.text)), nil
	}
	var list struct {
		Values []struct {
			StringValue *string `json:"stringValue"`
		} `json:"values"`
	}
	if err := json.NewDecoder(bytes.NewReader(a.text)).Decode(&list); err != nil {
		return nil, err
	}
	var out []string
	for _, v := range list.Values {
		if v.StringValue == nil {
			return nil, errors.New("a list of something other than texts")
		}
		out = append(out, *v.StringValue)
	}
	return out, nil
}
