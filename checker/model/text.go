package model

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// textTypes are what stands in the second column of a history.txt.
var textTypes = map[string]string{":invoke": "invoke", ":ok": "ok", ":fail": "fail", ":info": "info"}

// isText says whether a file that begins so is a history.txt.
func isText(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	columns := strings.SplitN(string(line), "\t", 4)
	return len(columns) >= 3 && textTypes[columns[1]] != "" && !strings.Contains(columns[0], " ")
}

// maxText bounds one line.
const maxText = 16 << 20

// ReadText reads a history as Jepsen writes it into history.txt: process, type, f and
// value, with tabs between them, and then an error that may go on for several lines. The
// file's order is the order.
func ReadText(r io.Reader, name string) (*History, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 1<<16), maxText)
	var events []jepsenEvent
	n, failed := 0, false // failed: the event before has an error
	for lines.Scan() {
		n++
		columns := strings.SplitN(lines.Text(), "\t", 5)
		if len(columns) < 4 || textTypes[columns[1]] == "" {
			if failed || strings.TrimSpace(lines.Text()) == "" {
				continue
			}
			return nil, &LineError{name, n, errors.New("not a line of a history.txt: want process, :type, :f and value, with tabs between them")}
		}
		failed = len(columns) == 5
		m := value{kind: kMap, line: n}
		for i, member := range []string{"process", "type", "f", "value"} {
			v, err := newEDN(strings.NewReader(columns[i])).next()
			if err != nil {
				return nil, &LineError{name, n, fmt.Errorf("the %s: %w", member, more(err))}
			}
			m.items = append(m.items, value{kind: kKeyword, text: member}, v)
		}
		e, ok, err := newEvent(m)
		if err != nil {
			return nil, &LineError{name, n, err}
		}
		if ok {
			events = append(events, e)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, &LineError{name, n + 1, err}
	}
	return joined(events, name)
}
