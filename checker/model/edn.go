package model

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// kind is the kind of an EDN value.
type kind uint8

const (
	kNil kind = iota
	kBool
	kNumber
	kString
	kChar
	kKeyword
	kSymbol
	kList // lists, vectors and sets
	kMap  // items are key, value, key, value
)

// value is one EDN value. Numbers keep their text, and their integer if they are one.
type value struct {
	kind  kind
	text  string
	n     int64
	whole bool // n holds the number
	set   bool
	tag   string // of an atom or a string: #inst
	items []value
	line  int
}

// The limits of what a hostile file can ask for.
const (
	maxDepth = 64
	maxAtom  = 1 << 20
)

// ednReader reads EDN values one after another (https://github.com/edn-format/edn).
type ednReader struct {
	r     *bufio.Reader
	line  int
	depth int
}

func newEDN(r io.Reader) *ednReader { return &ednReader{r: bufio.NewReaderSize(r, 1<<16), line: 1} }

func (d *ednReader) byte() (byte, error) {
	b, err := d.r.ReadByte()
	if b == '\n' && err == nil {
		d.line++
	}
	return b, err
}

func (d *ednReader) back(b byte) {
	_ = d.r.UnreadByte() // of a byte just read: cannot fail
	if b == '\n' {
		d.line--
	}
}

// skip eats what means nothing and returns the byte after it.
func (d *ednReader) skip() (byte, error) {
	for {
		b, err := d.byte()
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n', ',', '\f':
		case ';':
			for b != '\n' {
				if b, err = d.byte(); err != nil {
					return 0, err
				}
			}
		default:
			return b, nil
		}
	}
}

var errUnexpectedEnd = errors.New("the file ends in the middle of a value")

// more turns the end of the file inside of a value into an error.
func more(err error) error {
	if errors.Is(err, io.EOF) {
		return errUnexpectedEnd
	}
	return err
}

// next reads one value; io.EOF where there is none.
func (d *ednReader) next() (value, error) {
	for {
		b, err := d.skip()
		if err != nil {
			return value{}, err
		}
		v, ok, err := d.value(b)
		if err != nil || ok {
			return v, err
		}
	}
}

// value reads the value that begins with b; false for a discarded one.
func (d *ednReader) value(b byte) (value, bool, error) {
	line := d.line
	if d.depth > maxDepth {
		return value{}, false, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	d.depth++
	defer func() { d.depth-- }()
	var v value
	var err error
	switch b {
	case '(':
		v.kind = kList
		v.items, err = d.until(')')
	case '[':
		v.kind = kList
		v.items, err = d.until(']')
	case '{':
		v.kind = kMap
		if v.items, err = d.until('}'); err == nil && len(v.items)%2 != 0 {
			err = errors.New("a map with a key and no value")
		}
	case '"':
		v.kind = kString
		v.text, err = d.quoted()
	case ')', ']', '}':
		err = fmt.Errorf("unexpected %q", b)
	case '#':
		return d.dispatch()
	case '^': // metadata, and then what it is about
		if _, err = d.inner(); err == nil {
			v, err = d.inner()
		}
	case '\\':
		var first byte
		if first, err = d.byte(); err == nil {
			v.kind = kChar
			v.text, err = d.atom(first)
		}
	default:
		var text string
		if text, err = d.atom(b); err == nil {
			v, err = atom(text)
		}
	}
	v.line = line
	return v, true, more(err)
}

// inner reads a value that has to be there.
func (d *ednReader) inner() (value, error) {
	v, err := d.next()
	return v, more(err)
}

// dispatch reads what begins with #.
func (d *ednReader) dispatch() (value, bool, error) {
	line := d.line
	b, err := d.byte()
	if err != nil {
		return value{}, false, more(err)
	}
	switch b {
	case '{':
		items, err := d.until('}')
		return value{kind: kList, set: true, items: items, line: line}, true, err
	case '_':
		_, err := d.inner()
		return value{}, false, err
	case '#': // ##NaN, ##Inf
		b, err := d.byte()
		if err != nil {
			return value{}, false, more(err)
		}
		text, err := d.atom(b)
		return value{kind: kSymbol, text: text, line: line}, true, err
	}
	tag, err := d.atom(b)
	if err != nil {
		return value{}, false, err
	}
	v, err := d.inner()
	// Of what has members they are enough: Clojure writes equal maps, pairs and sets with
	// different tags, after the types that hold them.
	if v.kind != kList && v.kind != kMap {
		v.tag = tag
	}
	return v, true, err
}

func (d *ednReader) until(end byte) ([]value, error) {
	var items []value
	for {
		b, err := d.skip()
		if err != nil {
			return nil, more(err)
		}
		if b == end {
			return items, nil
		}
		v, ok, err := d.value(b)
		if err != nil {
			return nil, more(err)
		}
		if ok {
			items = append(items, v)
		}
	}
}

func (d *ednReader) quoted() (string, error) {
	var out strings.Builder
	for {
		b, err := d.byte()
		if err != nil {
			return "", more(err)
		}
		switch b {
		case '"':
			if !utf8.ValidString(out.String()) {
				return "", errUTF8
			}
			return out.String(), nil
		case '\\':
			if b, err = d.byte(); err != nil {
				return "", more(err)
			}
			switch b {
			case 'n':
				b = '\n'
			case 't':
				b = '\t'
			case 'r':
				b = '\r'
			case 'b':
				b = '\b'
			case 'f':
				b = '\f'
			case 'u':
				r, err := d.unicode()
				if err != nil {
					return "", err
				}
				out.WriteRune(r)
				continue
			}
		}
		if out.Len() >= maxAtom {
			return "", fmt.Errorf("a string of more than %d bytes", maxAtom)
		}
		out.WriteByte(b)
	}
}

// unicode reads the four hexadecimal digits of an escaped character.
func (d *ednReader) unicode() (rune, error) {
	var digits [4]byte
	for i := range digits {
		b, err := d.byte()
		if err != nil {
			return 0, more(err)
		}
		digits[i] = b
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		return 0, fmt.Errorf("\\u%s is no character: want four hexadecimal digits", digits[:])
	}
	if !utf16.IsSurrogate(rune(n)) {
		return rune(n), nil
	}
	// The other half has to follow.
	if next, err := d.r.Peek(len(`\udc00`)); err == nil && string(next[:2]) == `\u` {
		other, err := strconv.ParseUint(string(next[2:]), 16, 16)
		if r := utf16.DecodeRune(rune(n), rune(other)); err == nil && r != utf8.RuneError {
			_, err = d.r.Discard(len(next))
			return r, err
		}
	}
	return 0, fmt.Errorf(`\u%s is half a character: write the character itself, as UTF-8`, digits[:])
}

var errUTF8 = errors.New("bytes that are no UTF-8: save the file as UTF-8")

// atom reads on from b to the end of a number, keyword or symbol.
func (d *ednReader) atom(b byte) (string, error) {
	out := []byte{b}
	for {
		b, err := d.byte()
		if errors.Is(err, io.EOF) {
			return word(out)
		}
		if err != nil {
			return "", err
		}
		if strings.IndexByte(" \t\r\n,;()[]{}\"\f", b) >= 0 {
			d.back(b)
			return word(out)
		}
		if len(out) >= maxAtom {
			return "", fmt.Errorf("a word of more than %d bytes", maxAtom)
		}
		out = append(out, b)
	}
}

func word(text []byte) (string, error) {
	if !utf8.Valid(text) {
		return "", errUTF8
	}
	return string(text), nil
}

func atom(text string) (value, error) {
	c := text[0]
	switch {
	case text == "nil":
		return value{kind: kNil}, nil
	case text == "true" || text == "false":
		return value{kind: kBool, text: text}, nil
	case c == ':':
		if len(text) == 1 {
			return value{}, errors.New("a colon without a name")
		}
		return value{kind: kKeyword, text: text[1:]}, nil
	case c >= '0' && c <= '9', len(text) > 1 && (c == '-' || c == '+') && text[1] >= '0' && text[1] <= '9':
		n, err := strconv.ParseInt(strings.TrimSuffix(text, "N"), 10, 64)
		return value{kind: kNumber, text: text, n: n, whole: err == nil}, nil
	}
	return value{kind: kSymbol, text: text}, nil
}

// get looks a keyword up in a map; the last of several counts.
func (v value) get(name string) value {
	var out value
	if v.kind == kMap {
		for i := 0; i+1 < len(v.items); i += 2 {
			if k := v.items[i]; k.kind == kKeyword && k.text == name {
				out = v.items[i+1]
			}
		}
	}
	return out
}
