package compose

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"time"
)

// Ask puts the probe's question to the server at addr once. It returns true when
// the answer matches. A nil probe asks only whether the port opens.
func (p *Probe) Ask(ctx context.Context, addr string) (bool, error) {
	_, ok, err := p.Answer(ctx, addr)
	return ok, err
}

// Answer is Ask, and returns what matched: the expression's first group, all of the
// match where it has none. If nothing matched, it is the end of what came.
func (p *Probe) Answer(ctx context.Context, addr string) (text string, ok bool, err error) {
	text, answer, ok, err := p.exchange(ctx, addr)
	if !ok {
		text = string(answer[max(0, len(answer)-maxShown):])
	}
	return text, ok, err
}

// maxShown is how much of an answer that is not the expected one an error shows.
const maxShown = 200

// exchange is Answer, and returns also all that came.
func (p *Probe) exchange(ctx context.Context, addr string) (text string, answer []byte, ok bool, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", answer, false, err
	}
	defer conn.Close()
	if p == nil {
		return "", nil, true, nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return "", answer, false, err
		}
	}
	if p.TLS {
		// The question holds no secret, and the certificate is made at the server's start.
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec
	}
	if _, err := io.WriteString(conn, p.Send); err != nil {
		return "", answer, false, err
	}
	want, err := regexp.Compile(p.Expect)
	if err != nil {
		return "", answer, false, err
	}
	buf := make([]byte, 4096)
	for len(answer) < 1<<20 {
		n, err := conn.Read(buf)
		answer = append(answer, buf[:n]...)
		if found := want.FindSubmatch(answer); found != nil {
			return string(found[min(1, len(found)-1)]), answer, true, nil
		}
		if p.SQL != "" && answeredSQL(answer) {
			return "", answer, false, nil
		}
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
				return "", answer, false, nil
			}
			return "", answer, false, err
		}
	}
	return "", answer, false, nil
}

// Await asks until the server answers as the probe expects, ctx ends, or gone is
// closed because the server has ended.
func (p *Probe) Await(ctx context.Context, addr string, gone <-chan struct{}) error {
	return p.AwaitBy(ctx, addr, gone, func(ctx context.Context) (bool, error) {
		_, answer, ok, err := p.exchange(ctx, addr)
		if !ok && len(answer) > 0 {
			err = fmt.Errorf("got %q, want %q", answer[:min(len(answer), maxShown)], p.Expect)
		}
		return ok, err
	})
}

// ErrEnded says that a server's program ended before it answered.
var ErrEnded = errors.New("it ended while it was starting")

// ErrKilled says that a server was killed before it answered: whoever did that starts it again.
var ErrKilled = errors.New("it was killed while it was starting")

// ErrRuns says that a server is not started because it runs.
var ErrRuns = errors.New("it runs already")

// AwaitBy is Await with another way to ask: not every server can be reached from
// here.
func (p *Probe) AwaitBy(ctx context.Context, addr string, gone <-chan struct{}, ask func(context.Context) (bool, error)) error {
	var last error
	// A server that is still electing holds the question back: ask anew soon at
	// first, and give a slow machine more and more time.
	patience := 100 * time.Millisecond
	for ; ; patience = min(patience*5/4, 2*time.Second) {
		actx, cancel := context.WithTimeout(ctx, patience)
		ok, err := ask(actx)
		cancel()
		if ok {
			return nil
		}
		if err != nil && (last == nil || !isTimeout(err)) { // that the time was over says less than an answer
			last = err
		}
		// A server does not announce that its port is about to open: asking again is
		// the only way to find out.
		select {
		case <-ctx.Done():
			if last == nil && p != nil {
				last = fmt.Errorf("it answers, but not with %q", p.Expect)
			}
			return fmt.Errorf("no answer at %s: %w", addr, last)
		case <-gone:
			return ErrEnded
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// isTimeout says whether an attempt failed only because its time was over.
func isTimeout(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}
