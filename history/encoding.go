package history

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// What is no UTF-8 is refused: encoding/json makes one character of all such bytes, so that two
// names would become one.
var (
	errUTF8      = errors.New("bytes that are no UTF-8: save the file as UTF-8")
	errSurrogate = errors.New(`half a character: one of \ud800 to \udfff without its other half: write the character itself, as UTF-8`)
	errUTF16     = errors.New("the file is UTF-16: save it as UTF-8")
)

// encoded refuses JSON with bytes that are no UTF-8, and with half of an escaped character.
func encoded(text []byte) error {
	if !utf8.Valid(text) {
		return errUTF8
	}
	for i := bytes.IndexByte(text, '\\'); i >= 0 && i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		half := escapedRune(text[min(i, len(text)):])
		if !utf16.IsSurrogate(half) {
			continue
		}
		i += len("ud83d")
		rest, escaped := bytes.CutPrefix(text[min(i, len(text)):], []byte{'\\'})
		if !escaped || utf16.DecodeRune(half, escapedRune(rest)) == utf8.RuneError {
			return errSurrogate
		}
		i += len("ude00")
	}
	return nil
}

// escapedRune is the character of "u00e9", which stands after a backslash; 0 of anything else.
func escapedRune(text []byte) rune {
	if len(text) < len("u00e9") || text[0] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(text[1:5]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}

// utf8Text passes over the mark that some programs put before UTF-8, and refuses UTF-16.
func utf8Text(r io.Reader) (io.Reader, error) {
	br := bufio.NewReaderSize(r, 1<<12) // r itself if it has a buffer
	head, err := br.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return br, nil // a reader's error comes again where it is read
	}
	switch {
	case bytes.HasPrefix(head, []byte("\ufeff")):
		_, err = br.Discard(len("\ufeff"))
		return br, err
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return nil, errUTF16
	case len(head) > 1 && (head[0] == 0) != (head[1] == 0):
		return nil, errUTF16 // without a mark: the first character is ASCII's
	}
	return br, nil
}
