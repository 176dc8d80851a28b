package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// redis is one connection, made when it is needed and given up after every error:
// what may yet come on it answers an old command.
type redis struct {
	addr    string
	timeout time.Duration // of one command
	keep    bool          // the connection is kept after a timeout: a bug

	mu sync.Mutex
	c  net.Conn
	r  *bufio.Reader
}

// patient reads what is there even when its time is over: an answer that came while the
// process was stopped is read by most clients, whose kernel counts the time.
type patient struct{ net.Conn }

func (p patient) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && n == 0 {
		if err := p.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
			return 0, err
		}
		return p.Conn.Read(b)
	}
	return n, err
}

// newRedis limits a command to timeout, within what people usually set.
func newRedis(addr string, timeout time.Duration) *redis {
	return &redis{addr: addr, timeout: min(max(timeout, 250*time.Millisecond), 500*time.Millisecond)}
}

// do sends one command. The reply is nil, an int64, a string or a list of those.
func (d *redis) do(words ...any) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.c == nil {
		c, err := net.DialTimeout("tcp", d.addr, d.timeout)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errNotSent, err)
		}
		d.c, d.r = c, bufio.NewReader(patient{c})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		s := fmt.Sprint(w)
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(s), s)
	}
	err := d.c.SetDeadline(time.Now().Add(d.timeout))
	if err == nil {
		_, err = io.WriteString(d.c, b.String())
	}
	var reply any
	if err == nil {
		reply, err = d.reply()
	}
	var said replyError
	if err != nil && !errors.As(err, &said) && !d.keep {
		d.drop()
	}
	return reply, err
}

func (d *redis) drop() {
	d.c.Close()
	d.c = nil
}

// replyError is the server's own refusal.
type replyError string

func (e replyError) Error() string { return string(e) }

func (d *redis) reply() (any, error) {
	line, err := d.r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	kind, rest := line[0], strings.TrimRight(line[1:], "\r\n")
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, replyError(rest)
	case ':':
		return strconv.ParseInt(rest, 10, 64)
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 {
		return nil, err
	}
	if kind == '*' {
		list := make([]any, n)
		for i := range list {
			if list[i], err = d.reply(); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(d.r, text); err != nil {
		return nil, err
	}
	return string(text[:n]), nil
}

// script runs a Lua script on keys, with args.
func (d *redis) script(text string, keys []string, args ...any) (any, error) {
	words := []any{"EVAL", text, len(keys)}
	for _, k := range keys {
		words = append(words, k)
	}
	return d.do(append(words, args...)...)
}

// one says whether a command that answers with a number answered with one.
func one(reply any, err error) (bool, error) { return reply == int64(1), err }
