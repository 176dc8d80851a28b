package history

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// Source is a file under the name that errors give it.
type Source struct {
	Path string
	Name string // "" for Path
	// CSV: its first line names columns, and each further one is an event. It is read as
	// the JSON lines that say the same. Columns has the column that stands for a member,
	// where it has another name.
	CSV     bool
	Columns map[string]string
	// Spans: it is a trace of OpenTelemetry's, each span of a lock's operation two events.
	// Columns then has the attribute that stands for a member, and the names of the spans
	// that are an operation.
	Spans bool
	// If Note is not nil, reading a trace calls it with what it passed over, in words.
	Note func(string)
}

// line is where in the file the n-th line stands that Open gives.
func (s Source) line(n int) int {
	if s.CSV {
		return n + 1 // after the one that names the columns
	}
	return n
}

// located gives the line of an error of Decode its number in the file.
func (s Source) located(err error) error {
	var at *LineError
	if errors.As(err, &at) {
		return &LineError{at.File, s.line(at.Line), at.Err}
	}
	return err
}

// String is the file's name in errors.
func (s Source) String() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Path
}

// Open opens the file, and decompresses it on the fly where it is a gzip file; of a CSV file
// it gives JSON lines, of a trace what stands in the file.
func (s Source) Open() (io.ReadCloser, error) {
	f, r, err := s.text()
	if err != nil {
		return nil, err
	}
	if s.CSV {
		if r, err = newCSV(r, s.String(), s.Columns); err != nil {
			f.Close()
			return nil, err
		}
	}
	return struct {
		io.Reader
		io.Closer
	}{r, f}, nil
}

// text opens the file and gives what stands in it, decompressed and as UTF-8.
func (s Source) text() (io.Closer, io.Reader, error) {
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, nil, err
	}
	r, err := Decompress(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", s, err)
	} else if r, err = utf8Text(r); err != nil {
		err = &LineError{s.String(), 1, err}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, r, nil
}

// Head is what the file begins with, decompressed: 4 KB, or less where it is shorter.
func (s Source) Head() ([]byte, error) {
	f, r, err := s.text()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, _ := io.ReadFull(r, head) // what cannot be read is for those to say who read it all
	return head[:n], nil
}

// A gzip file may grow to bombMin bytes, or to bombRatio times its size: histories
// shrink to a tenth or a twentieth, what shrinks more than that was made to fill a
// memory.
const (
	bombMin   = 256 << 20
	bombRatio = 100
)

// ErrBomb says that a gzip file grows as no history does.
var ErrBomb = errors.New("decompresses to more than 100 times its size: decompress it yourself if you trust it")

// Decompress returns r, or what it decompresses to where it begins as a gzip file
// does. Nothing is held of it.
func Decompress(r io.Reader) (io.Reader, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	head, err := br.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b {
		return br, nil
	}
	in := &counter{r: br}
	// The buffer makes it read no more than it counts.
	z, err := gzip.NewReader(bufio.NewReader(in))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return &inflated{z: z, in: in, free: bombMin}, nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// inflated is a gzip file's content, as long as it grows like one.
type inflated struct {
	z    *gzip.Reader
	in   *counter
	out  int64
	free int64 // bytes that are never too many
}

func (d *inflated) Read(p []byte) (int, error) {
	n, err := d.z.Read(p)
	d.out += int64(n)
	switch {
	case d.out > d.free && d.out > bombRatio*d.in.n:
		return 0, ErrBomb
	case errors.Is(err, io.ErrUnexpectedEOF):
		// A reader of blocks would take ErrUnexpectedEOF for the end of the file.
		return n, errors.New("decompress: the gzip file is cut off")
	case err != nil && !errors.Is(err, io.EOF):
		return n, fmt.Errorf("decompress: %w", err)
	}
	return n, err
}
