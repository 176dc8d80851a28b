// Package lines carries requests and answers over a pair of pipes, one a line. Client sends
// requests, Serve answers them, and both read by Reader. The package knows no protocol: its
// callers give lines their meaning.
package lines

import (
	"bufio"
	"errors"
	"io"
)

// Errors of a line that is not whole. Next returns what there is of it beside the error.
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

// Next returns the next line without its end. The bytes are valid until the next call. If a
// line is too long, Next reads at most a chunk of the rest.
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
