// Package lines carries requests and answers over a pair of pipes, one a line: the
// asking end (Client), the answering end (Serve), and what both read with (Reader). It
// knows no protocol: what a line says is for those who use it.
package lines

import (
	"bufio"
	"errors"
	"io"
)

// How a line can be none. Next returns what there was of it beside the error.
var (
	// ErrTooLong: it has more bytes than the reader takes.
	ErrTooLong = errors.New("a line that is too long")
	// ErrHalf: the input ended before it did.
	ErrHalf = errors.New("ended in the middle of a line")
)

// chunk is read at once: most lines fit, so that they are not copied.
const chunk = 4 << 10

// Reader reads lines of a bounded length.
type Reader struct {
	in      *bufio.Reader
	longest int
	long    []byte // a line of more than a chunk
}

// NewReader reads lines of at most longest bytes, their ends included.
func NewReader(in io.Reader, longest int) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, chunk), longest: longest}
}

// Next returns the next line without its end. The bytes are good until the next call. One
// that is too long is seen at most a chunk later.
// The error is io.EOF at the end of the input, wraps ErrHalf or ErrTooLong as they say,
// or is the input's own. After an error there is nothing more to read.
func (r *Reader) Next() ([]byte, error) {
	r.long = r.long[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		line := part
		if len(r.long) > 0 || errors.Is(err, bufio.ErrBufferFull) {
			r.long = append(r.long, part...)
			line = r.long
		}
		if len(line) > r.longest {
			return line[:r.longest], ErrTooLong
		}
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(line) > 0:
			return line, errors.Join(ErrHalf, err)
		default:
			return nil, err
		}
	}
}
