package model

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Lines of Jepsen's own output, as Porcupine keeps them in its test data.
var (
	logLine = regexp.MustCompile(`^INFO\s+jepsen\.util\s+-\s+(\d+)\s+:(invoke|ok|fail|info)\s+:(read|write|cas)\s+(.*?)\s*$`)
	pair    = regexp.MustCompile(`^\[(\d+)\s+(\d+)\]$`)
)

// ReadLog reads Jepsen's text log of one register, as in Porcupine's test data
// (jepsen/etcd_*.log). There a failed cas found another value than it expected,
// and a failed read is one that timed out.
func ReadLog(r io.Reader, name string) (*History, error) {
	p := &pairing{h: &History{File: name}}
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 1<<16), maxAtom)
	n, known := 0, 0
	for s.Scan() {
		n++
		line := s.Text()
		m := logLine.FindStringSubmatch(line)
		if m == nil {
			if strings.TrimSpace(line) == "" || !strings.Contains(line, "jepsen.util") {
				continue // other parts of the program log as well
			}
			if strings.Contains(line, ":nemesis") {
				continue
			}
			return nil, &LineError{name, n, fmt.Errorf("not an operation on a register: %.80q", line)}
		}
		known++
		if err := p.logged(m[1], m[2], m[3], m[4], At{int64(n), n}); err != nil {
			return nil, &LineError{name, n, err}
		}
	}
	if err := s.Err(); err != nil {
		return nil, &LineError{name, n + 1, err}
	}
	if known == 0 {
		return nil, &LineError{name, n, errors.New("no operation found: is this a Jepsen log?")}
	}
	return p.finish(), nil
}

func (p *pairing) logged(process, typ, f, val string, at At) error {
	if typ == "invoke" {
		o := &Op{Process: process, Owner: process, F: f, Arg: val}
		if f == "cas" {
			m := pair.FindStringSubmatch(val)
			if m == nil {
				return fmt.Errorf("a cas needs [expected new], has %.40q", val)
			}
			o.Arg, o.Arg2 = m[1], m[2]
		}
		return p.invoke(o, at)
	}
	o, err := p.complete(process, f)
	if err != nil {
		return err
	}
	switch {
	case typ == "info":
		p.done(o, Info, at)
	case typ == "fail" && f == "cas" && val != ":timed-out":
		p.done(o, Mismatch, at)
	case typ == "fail":
		p.drop(o)
	default:
		p.done(o, OK, at)
		o.Out = val
	}
	return nil
}
