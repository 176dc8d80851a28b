package history

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Values that a fast decoder passes over: those of unknown members. They are
// held to all of JSON's grammar, or a line that encoding/json refuses would be taken.

// The names of the known members. encoding/json would take "Key" for "key", too.
var (
	eventNames  = append(memberNames(reflect.TypeFor[Event]()), []byte(formerConfirmed))
	effectNames = memberNames(reflect.TypeFor[Effect]())
)

func memberNames(t reflect.Type) [][]byte {
	var names [][]byte
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, []byte(name))
	}
	return names
}

// exactly is an object with its known members alone, of which the names are matched exactly.
func exactly(object []byte, known [][]byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(object)) // of an object that has no mistake
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return object
	}
	out := []byte{'{'}
	for dec.More() {
		var value json.RawMessage
		t, err := dec.Token()
		if err != nil || dec.Decode(&value) != nil {
			return object
		}
		name, _ := t.(string)
		if !slices.ContainsFunc(known, func(n []byte) bool { return string(n) == name }) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(append(out, '"'), name...), `":`...), value...)
	}
	return append(out, '}')
}

// maxDepth bounds how deep a foreign value may be nested here. encoding/json takes more.
const maxDepth = 64

// skip eats a value of any kind.
func (c *cursor) skip() { c.skipWithin(maxDepth) }

func (c *cursor) skipWithin(depth int) {
	if c.bad || c.i >= len(c.b) || depth == 0 {
		c.bad = true
		return
	}
	switch c.b[c.i] {
	case '"':
		c.skipString()
	case '{':
		for more := c.open(); more; more = c.next() {
			c.skipString()
			c.space()
			if !c.eat(":") {
				c.bad = true
				return
			}
			c.space()
			c.skipWithin(depth - 1)
		}
	case '[':
		c.skipArray(depth)
	case 't':
		c.bad = !c.eat("true")
	case 'f':
		c.bad = !c.eat("false")
	case 'n':
		c.bad = !c.eat("null")
	default:
		c.skipNumber()
	}
}

func (c *cursor) skipArray(depth int) {
	c.i++
	c.space()
	if c.eat("]") {
		return
	}
	for {
		c.skipWithin(depth - 1)
		c.space()
		switch {
		case c.bad || c.eat("]"):
			return
		case !c.eat(","):
			c.bad = true
			return
		}
		c.space()
	}
}

// skipString eats a string, with all that may stand in one.
func (c *cursor) skipString() {
	if c.bad || c.i >= len(c.b) || c.b[c.i] != '"' {
		c.bad = true
		return
	}
	simple := true
	for i := c.i + 1; i < len(c.b); i++ {
		switch ch := c.b[i]; {
		case ch == '"':
			c.bad = !simple && encoded(c.b[c.i:i]) != nil
			c.i = i + 1
			return
		case ch >= utf8.RuneSelf:
			simple = false
		case ch == '\\':
			simple = false
			i++
			if i >= len(c.b) {
				break
			}
			if c.b[i] == 'u' {
				if len(c.b)-i < 5 || !allHex(c.b[i+1:i+5]) {
					c.bad = true
					return
				}
				i += 4
			} else if !strings.ContainsRune(`"\/bfnrt`, rune(c.b[i])) {
				c.bad = true
				return
			}
		case ch < 0x20:
			c.bad = true
			return
		}
	}
	c.bad = true
}

func allHex(b []byte) bool {
	for _, ch := range b {
		if (ch < '0' || ch > '9') && (ch < 'a' || ch > 'f') && (ch < 'A' || ch > 'F') {
			return false
		}
	}
	return true
}

// skipNumber eats a number of any size.
func (c *cursor) skipNumber() {
	c.eat("-")
	if !c.eat("0") {
		c.digits()
	}
	if c.eat(".") {
		c.digits()
	}
	if c.eat("e") || c.eat("E") {
		if !c.eat("+") {
			c.eat("-")
		}
		c.digits()
	}
}

// digits eats one digit or more.
func (c *cursor) digits() {
	from := c.i
	for c.i < len(c.b) && c.b[c.i] >= '0' && c.b[c.i] <= '9' {
		c.i++
	}
	c.bad = c.bad || c.i == from
}
