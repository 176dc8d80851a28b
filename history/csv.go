package history

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrColumns says that a CSV file does not have the columns that an event needs.
var ErrColumns = errors.New("the columns do not make events")

// Members are the names of an event's members, which a CSV file's columns may have.
func Members() []string {
	var out []string
	for _, n := range eventNames {
		if string(n) != formerConfirmed {
			out = append(out, string(n))
		}
	}
	return out
}

// csvReader is a CSV file as JSON lines, one a row: so there is one meaning of an event and
// one way to judge it. The first line names the columns. What is no number where one
// has to be is refused with its column and line.
type csvReader struct {
	in      *bufio.Reader
	name    string
	columns []column
	number  bool // rows are numbered here: no column does
	row     int64
	blank   int    // empty lines, which may be the end
	out     []byte // what was made and not yet read is out[from:]
	from    int
	err     error // after out
}

// column is what a column's cells become; key is empty for one of no interest.
type column struct {
	name   string
	key    string // `"time":`
	number bool
	truth  bool
	list   bool // words
}

// newCSV reads the first line. as says under which name a column stands for a member,
// where that is not the member's own.
func newCSV(r io.Reader, name string, as map[string]string) (*csvReader, error) {
	c := &csvReader{in: bufio.NewReaderSize(r, 1<<16), name: name, number: true}
	line, err := c.line()
	if errors.Is(err, io.EOF) && len(line) == 0 {
		c.err = err // an empty history
		return c, nil
	}
	if err == nil && !utf8.Valid(line) {
		err = errUTF8
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, &LineError{name, 1, err}
	}
	head, err := cells(line)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: the first line has to name them: %w", name, ErrColumns, err)
	}
	c.columns = make([]column, len(head))
	for _, member := range append(Members(), formerConfirmed) {
		from := member
		if as[member] != "" {
			from = as[member]
		}
		i := slices.Index(head, from)
		switch {
		case i < 0 && (as[member] != "" || slices.Contains([]string{"time", "process", "type", "f"}, member)):
			return nil, fmt.Errorf("%s: %w: no column %s for %s: the first line has %s", name, ErrColumns, quote(from), member, quote(strings.Join(head, ",")))
		case i < 0:
			continue
		case slices.Contains(head[i+1:], from):
			return nil, fmt.Errorf("%s: %w: the first line names column %s twice: remove or rename one of the two", name, ErrColumns, quote(from))
		case c.columns[i].key != "":
			return nil, fmt.Errorf("%s: %w: column %s would stand for two members", name, ErrColumns, quote(from))
		}
		c.columns[i] = column{name: from, key: `"` + member + `":`, list: member == "nodes"}
		switch member {
		case "index":
			c.number, c.columns[i].number = false, true
		case "time", "token", "since", "lease", "permits":
			c.columns[i].number = true
		case "watchdog", "expired", "lingers", "notifies", "held", "not_held", "cancelled", "client_failed", "confirmed", formerConfirmed:
			c.columns[i].truth = true
		}
	}
	return c, c.almost(head)
}

// almost refuses a column that is of no interest only because its name is not written as a member's: a lease that is left out
// without a word changes the verdict.
func (c *csvReader) almost(head []string) error {
	plain := func(name string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	}
	free := map[string]string{} // members that no column stands for
	for _, member := range Members() {
		if !slices.ContainsFunc(c.columns, func(o column) bool { return o.key == `"`+member+`":` }) {
			free[plain(member)] = member
		}
	}
	for i, name := range head {
		if member, ok := free[plain(name)]; ok && c.columns[i].key == "" {
			return fmt.Errorf("%s: %w: column %s is none: name it %s, or use --map %s=COLUMN", c.name, ErrColumns, quote(name), member, member)
		}
	}
	return nil
}

// Read implements io.Reader.
func (c *csvReader) Read(p []byte) (int, error) {
	for c.from == len(c.out) {
		if c.err != nil {
			return 0, c.err
		}
		c.out, c.from = c.out[:0], 0
		for len(c.out) < batchBytes && c.err == nil {
			c.err = c.next()
		}
	}
	n := copy(p, c.out[c.from:])
	c.from += n
	return n, nil
}

// line is the next line without its end. The bytes are good until the next call.
func (c *csvReader) line() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("line longer than %d bytes", c.in.Size())
	}
	return bytes.TrimRight(line, "\r\n"), err
}

// next makes an event of the next row.
func (c *csvReader) next() error {
	line, err := c.line()
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return c.at(err)
	case len(line) == 0 && err != nil:
		return err
	case len(line) == 0:
		c.blank++
		return nil
	}
	for ; c.blank > 0; c.blank-- {
		c.out = append(c.out, '\n')
		c.row++
	}
	if !utf8.Valid(line) {
		return c.at(errUTF8)
	}
	from := len(c.out)
	if c.number {
		c.out = strconv.AppendInt(append(c.out, `,"index":`...), c.row, 10)
	}
	n, wrong := 0, error(nil)
	if bytes.IndexByte(line, '"') < 0 {
		for rest, more := line, true; more; n++ {
			var cell []byte
			cell, rest, more = bytes.Cut(rest, []byte{','})
			wrong = cmp.Or(wrong, c.cell(n, cell))
		}
	} else {
		all, err := cells(line)
		if err != nil {
			c.out = c.out[:from]
			return c.at(err)
		}
		for n = range all {
			wrong = cmp.Or(wrong, c.cell(n, []byte(all[n])))
		}
		n = len(all)
	}
	if n != len(c.columns) {
		c.out = c.out[:from] // half a row
		return c.at(fmt.Errorf("%d cells, and the first line names %d columns", n, len(c.columns)))
	}
	if wrong != nil {
		c.out = c.out[:from]
		return c.at(wrong)
	}
	if len(c.out) == from {
		c.out = append(c.out, '{') // no cell says anything
	}
	c.out[from] = '{'
	c.out = append(c.out, "}\n"...)
	c.row++
	return err
}

// at says in which row an error is, counted as those of JSON lines are.
func (c *csvReader) at(err error) error {
	return &LineError{c.name, int(c.row) + c.blank + 1, err}
}

// cell writes a cell as a member, with a comma before it.
func (c *csvReader) cell(i int, cell []byte) error {
	if i >= len(c.columns) || c.columns[i].key == "" || len(cell) == 0 {
		return nil
	}
	to := &c.columns[i]
	c.out = append(append(c.out, ','), to.key...)
	switch {
	case to.list:
		text, _ := json.Marshal(strings.Fields(string(cell))) // strings can be written
		c.out = append(c.out, text...)
	case to.number && !isNumber(cell):
		return fmt.Errorf("column %s: %s is no whole number: want one such as 1000000", quote(to.name), quote(string(cell)))
	case to.truth && string(cell) != "true" && string(cell) != "false":
		return fmt.Errorf("column %s: %s is no truth value: write true or false", quote(to.name), quote(string(cell)))
	case to.number, to.truth:
		c.out = append(c.out, cell...)
	default:
		c.out = appendString(c.out, cell)
	}
	return nil
}

// isNumber says whether a cell is JSON's number without a point.
func isNumber(cell []byte) bool {
	digits := bytes.TrimPrefix(cell, []byte("-"))
	if len(digits) == 0 || len(digits) > 1 && digits[0] == '0' {
		return false
	}
	for _, ch := range digits {
		if ch < '0' || ch > '9' {
			return false
		}
	}
	return true
}

// appendString writes a string of JSON.
func appendString(out, s []byte) []byte {
	for _, ch := range s {
		if !plain[ch] {
			text, _ := json.Marshal(string(s)) // strings can be written
			return append(out, text...)
		}
	}
	return append(append(append(out, '"'), s...), '"')
}

// cells takes a line apart that has quotes in it. A cell cannot have a line's end in it.
func cells(line []byte) ([]string, error) {
	r := csv.NewReader(bytes.NewReader(line))
	r.FieldsPerRecord = -1
	out, err := r.Read()
	var at *csv.ParseError
	if errors.As(err, &at) {
		err = at.Err // where is for the caller to say
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it is empty")
	}
	return out, err
}
