package exec

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/proc"
)

// execRequest and execAnswer are the lines of the exec protocol.
type execRequest struct {
	ID      int64             `json:"id"`
	Op      string            `json:"op"` // open, acquire, renew, release or close
	Servers []string          `json:"servers,omitempty"`
	Shared  string            `json:"directory,omitempty"` // see Options.Directory
	Client  string            `json:"client,omitempty"`
	TTL     int64             `json:"ttl_ms,omitempty"`
	Options map[string]string `json:"options,omitzero"`
	Key     string            `json:"key,omitempty"`
	Mode    string            `json:"mode,omitempty"` // of an acquire: "shared", or nothing for oneself alone
	Timeout int64             `json:"timeout_ms,omitempty"`
}

type execAnswer struct {
	ID       int64  `json:"id"`
	OK       *bool  `json:"ok"`
	Error    string `json:"error"`
	Definite bool   `json:"definite"`
	Token    int64  `json:"token"`
	Lease    int64  `json:"lease_ms"`
	Since    int64  `json:"since_ns"`
	Event    string `json:"event"` // "lost" or "renewed", in a line that answers nothing
	Key      string `json:"key"`

	line      string            // as the child wrote it
	abilities clients.Abilities // of an open
	grant     *childGrant       // of an acquire that was granted
}

// childGrant is what the child may say of a grant by itself.
type childGrant struct {
	asked    int64         // when the acquire was asked for (history.Now)
	lost     chan struct{} // closes on the child's "lost"
	renewals chan clients.Renewal
}

const (
	childLine  = 64 << 10 // the longest line that a child may write
	childSays  = 200      // how much of a line an error quotes
	childError = 2000     // how much of its own error
	// renewalRoom is how many renewals wait until the client takes them.
	renewalRoom = 16
	maxLease    = int64(10 * 365 * 24 * time.Hour / time.Millisecond) // in lease_ms
	childGrace  = time.Second                                         // to end after a close, and to be reaped
	childWrite  = 10 * time.Second                                    // to take a request; more only a child that does not read
)

// child is one process that speaks the exec protocol. It is in our process group,
// so that what pauses or kills us does the same to it.
type child struct {
	in    *os.File // to the child
	out   *os.File // from it
	kill  func()
	group sync.WaitGroup
	dead  chan struct{} // closes when the child is of no more use
	// reaped closes when its exit status is part of the reason.
	reaped chan struct{}

	mu    sync.Mutex
	why   error // set before dead closes
	id    int64
	calls map[int64]call
	// grants are those that are held, by key; several only of one who holds a lock more
	// than once.
	grants map[string][]*childGrant
	nested bool // it can be
}

// errNotAsked: the child had ended before it could take the request.
var errNotAsked = errors.New("not asked")

type call struct {
	request execRequest
	asked   int64
	answer  chan execAnswer // never blocks: it has room for the one answer
}

// programError is an error that wraps ErrProgram and does not say so twice.
type programError struct{ error }

func (programError) Is(target error) bool { return target == clients.ErrProgram }
func (e programError) Unwrap() error      { return e.error }

// startChild runs command by sh. A plain command replaces the shell, so that to
// kill the one is to kill the other.
func startChild(command string) (*child, error) {
	if !strings.ContainsAny(command, "|&;<>(){}=!\n") {
		command = "exec " + command
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Stderr = os.Stderr
	proc.DieWithParent(cmd)
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer childOut.Close()
	cmd.Stdin, cmd.Stdout = childIn, childOut
	c := &child{in: in, out: out, dead: make(chan struct{}), reaped: make(chan struct{}), calls: map[int64]call{}, grants: map[string][]*childGrant{}}
	started := make(chan error)
	c.group.Go(func() {
		// What DieWithParent asks for happens when the thread that started the child
		// ends: this one stays until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		if err == nil {
			err = errors.New("exit status 0")
		}
		// What it said last is still in the pipe, which a grandchild may keep open.
		out.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		<-c.dead
		c.mu.Lock()
		c.why = fmt.Errorf("%w (%w)", c.why, err)
		c.mu.Unlock()
		close(c.reaped)
	})
	if err := <-started; err != nil {
		c.group.Wait()
		in.Close()
		out.Close()
		return nil, err
	}
	c.kill = func() { cmd.Process.Kill() }
	c.group.Go(c.listen)
	return c, nil
}

// ended is nil as long as the child can be asked, then the reason.
func (c *child) ended() error {
	select {
	case <-c.dead:
		t := time.NewTimer(childGrace)
		defer t.Stop()
		select {
		case <-c.reaped:
		case <-t.C:
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.why
	default:
		return nil
	}
}

// fail ends the child, for the first reason given.
func (c *child) fail(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = why
		close(c.dead)
		c.kill()
	}
}

// ask sends a request and waits for the answer until grace after ctx has ended.
// The error wraps ErrUnknown if the child got the request and never answered.
func (c *child) ask(ctx context.Context, r execRequest, grace time.Duration) (execAnswer, error) {
	if err := c.ended(); err != nil {
		return execAnswer{}, fmt.Errorf("%w: %w", errNotAsked, err)
	}
	if err := ctx.Err(); err != nil {
		return execAnswer{}, err
	}
	answer := make(chan execAnswer, 1)
	c.mu.Lock()
	c.id++
	r.ID = c.id
	c.calls[r.ID] = call{r, history.Now(), answer}
	line, err := json.Marshal(r)
	if err == nil {
		c.in.SetWriteDeadline(time.Now().Add(childWrite))
		_, err = c.in.Write(append(line, '\n'))
	}
	c.mu.Unlock()
	if err != nil { // so the line's end certainly did not get there
		select {
		case <-c.dead: // for the reason that its last words give
		case <-time.After(childGrace):
			c.fail(programError{fmt.Errorf("child takes no requests: %w", err)})
		}
		return execAnswer{}, fmt.Errorf("%w: %w", errNotAsked, c.ended())
	}
	select {
	case a := <-answer:
		return a, nil
	case <-c.dead:
	case <-ctx.Done():
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case a := <-answer:
			return a, nil
		case <-c.dead:
		case <-t.C:
			c.fail(fmt.Errorf("child did not answer %s: %w", line, ctx.Err()))
		}
	}
	return execAnswer{}, fmt.Errorf("%w: %w", clients.ErrUnknown, c.ended())
}

// listen takes the child's lines until it ends or breaks the protocol.
func (c *child) listen() {
	br := bufio.NewReaderSize(c.out, childLine)
	for {
		line, err := br.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			err = fmt.Errorf("child wrote a line of more than %d bytes: %s", childLine, quote(line))
		case err != nil && len(line) > 0:
			err = fmt.Errorf("child ended in the middle of a line: %s", quote(line))
		case err != nil:
			err = errors.New("child ended")
		default:
			err = c.take(bytes.TrimSpace(line))
		}
		if err != nil {
			c.fail(programError{err})
			return
		}
	}
}

func (c *child) take(line []byte) error {
	a := execAnswer{line: quote(line)}
	if err := json.Unmarshal(line, &a); err != nil {
		return fmt.Errorf("child wrote %s: not a JSON object of the expected form (what is no answer belongs on standard error): %w", a.line, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.Event != "" {
		return c.event(a)
	}
	call, ok := c.calls[a.ID]
	switch {
	case !ok:
		return fmt.Errorf("child wrote %s: no request with that id is open", a.line)
	case a.OK == nil:
		return fmt.Errorf(`child wrote %s: an answer needs "ok"`, a.line)
	}
	if *a.OK {
		if err := c.granted(&a, call, line); err != nil {
			return fmt.Errorf("child wrote %s: %w", a.line, err)
		}
	}
	delete(c.calls, a.ID)
	call.answer <- a
	return nil
}

// granted checks and keeps what the answer to a request that was granted says besides.
func (c *child) granted(a *execAnswer, call call, line []byte) error {
	switch call.request.Op {
	case "open":
		declared := struct {
			*clients.Abilities
			Reentrant bool `json:"reentrant"`
		}{Abilities: &a.abilities}
		if err := json.Unmarshal(line, &declared); err != nil {
			return err
		}
		if declared.Reentrant && a.abilities.Kind == "" {
			a.abilities.Kind = clients.Reentrant
		}
	case "acquire":
		a.grant = &childGrant{asked: call.asked, lost: make(chan struct{}), renewals: make(chan clients.Renewal, renewalRoom)}
		key := call.request.Key
		if !c.nested {
			c.grants[key] = nil // whose client has let go of it
		}
		c.grants[key] = append(c.grants[key], a.grant)
	}
	return nil
}

// event takes a line that answers nothing. One of a key that is not held is late.
func (c *child) event(a execAnswer) error {
	if a.Key == "" || a.Event != "lost" && a.Event != "renewed" {
		return fmt.Errorf(`child wrote %s: want {"event":"lost","key":...}, {"event":"renewed","key":...} or an answer`, a.line)
	}
	if a.Event == "lost" {
		for _, g := range c.grants[a.Key] {
			close(g.lost)
		}
		delete(c.grants, a.Key)
		return nil
	}
	if a.Lease <= 0 || a.Lease > maxLease || a.Since <= 0 {
		return fmt.Errorf(`child wrote %s: "renewed" needs "lease_ms" and "since_ns", right before the request that was answered`, a.line)
	}
	if err := sinceWithin(a.Since, 0, history.Now()); err != nil {
		return fmt.Errorf("child wrote %s: %w", a.line, err)
	}
	for _, g := range c.grants[a.Key] {
		if a.Since < g.asked {
			continue // it was of an earlier grant
		}
		select {
		case g.renewals <- clients.Renewal{Since: a.Since, Lease: time.Duration(a.Lease) * time.Millisecond}:
		default: // nobody takes it, which only shortens what is known
		}
	}
	return nil
}

// release forgets a grant that is being released: what the child says of its key from
// now on is not of it.
func (c *child) release(key string, g *childGrant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.grants[key], g); i >= 0 {
		c.grants[key] = slices.Delete(c.grants[key], i, i+1)
	}
	if len(c.grants[key]) == 0 {
		delete(c.grants, key)
	}
}

// close asks the child to end and sees to it that it does.
func (c *child) close() {
	if c.ended() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), childGrace)
		defer cancel()
		// An answer is a courtesy, and so is ending by itself.
		if _, err := c.ask(ctx, execRequest{Op: "close"}, 0); err == nil {
			c.in.Close()
			select {
			case <-c.dead:
			case <-ctx.Done():
			}
		}
		c.fail(errors.New("closed"))
	}
	c.in.Close()
	c.group.Wait()
	c.out.Close()
}

func quote(line []byte) string {
	if len(line) > childSays {
		return fmt.Sprintf("%q...", line[:childSays])
	}
	return fmt.Sprintf("%q", line)
}
