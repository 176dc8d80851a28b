package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/lines"
	"github.com/picklock/picklock/internal/proc"
)

// childGrant is what the child may report about a grant by itself.
type childGrant struct {
	asked    int64         // when the acquire was asked for (history.Now)
	lost     chan struct{} // closes on the child's "lost"
	renewals chan clients.Renewal
}

const (
	childSays  = 200  // how much of a line an error quotes
	childError = 2000 // how much of its own error
	// renewalRoom is how many renewals wait until the client takes them.
	renewalRoom = 16
	childGrace  = time.Second      // to end after a close, and to be reaped
	childWrite  = 10 * time.Second // to accept a request; only a child that does not read needs more
)

// child is one process that speaks the exec protocol. It is in our process group,
// so that a pause or a kill of this process reaches it, too.
type child struct {
	*lines.Client[*Request, Answer]
	in   *os.File // to the child
	kill func()
	exit error // how it ended: set before reaped closes
	// waiting for its end is the one goroutine; the other is the Client's.
	waiting sync.WaitGroup
	reaped  chan struct{}

	mu sync.Mutex
	// grants are those that are held, by key; several only of a client that holds a lock more
	// than once.
	grants map[string][]*childGrant
	nested bool // it can be
}

// errNotAsked: the child had ended before it could take the request.
var errNotAsked = errors.New("not asked")

// programError is an error that wraps ErrProgram and does not repeat its text.
type programError struct{ error }

func (programError) Is(target error) bool { return target == clients.ErrProgram }
func (e programError) Unwrap() error      { return e.error }

// startChild starts the program in a folder; "": in this process's own.
func startChild(command, folder string) (*child, error) {
	if folder != "" {
		// Without this the start fails as if there were no shell.
		if _, err := os.Stat(folder); err != nil {
			return nil, fmt.Errorf("look for the folder in which the program starts (change the line folder: of the scenario if it was moved): %w", err)
		}
	}
	cmd := Command(command)
	cmd.Dir = folder
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
	c := &child{in: in, reaped: make(chan struct{}), grants: map[string][]*childGrant{}}
	started := make(chan error)
	var number sync.Mutex // the child keeps its process number while this is held
	free := false         // the number may be another's by now
	c.waiting.Go(func() {
		// What DieWithParent asks for happens when the thread that started the child
		// ends: this one stays until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = proc.AwaitEnd(cmd.Process.Pid) // if that is unsupported, Wait does it
		number.Lock()
		if c.exit = cmd.Wait(); c.exit == nil {
			c.exit = errors.New("exit status 0")
		}
		free = true
		number.Unlock()
		// Its last lines are still in the pipe, which a grandchild may keep open.
		out.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		close(c.reaped)
	})
	if err := <-started; err != nil {
		c.waiting.Wait()
		in.Close()
		out.Close()
		return nil, err
	}
	// The shell alone is not the program: of a pipe, or a command after an assignment, it is
	// the parent, and what it leaves may take the lock and keep it.
	c.kill = func() {
		number.Lock()
		defer number.Unlock()
		if free {
			return
		}
		if err := proc.KillDescent(cmd.Process.Pid); err != nil {
			fmt.Fprintf(os.Stderr, "picklock: end the program: %v\n", err)
			cmd.Process.Kill()
		}
	}
	c.Client = lines.NewClient(patient{in}, out, lines.Protocol[*Request, Answer]{
		Longest: LongestLine,
		Number:  func(r **Request, id int64) { (*r).ID, (*r).asked = id, history.Now() },
		Take:    c.take,
		End:     c.end,
	})
	return c, nil
}

// patient writes to a child, which may read slowly.
type patient struct{ *os.File }

func (p patient) Write(b []byte) (int, error) {
	p.SetWriteDeadline(time.Now().Add(childWrite))
	return p.File.Write(b)
}

// ended is nil as long as the child can be asked, then the reason.
func (c *child) ended() error {
	why := c.Err()
	if why == nil {
		return nil
	}
	t := time.NewTimer(childGrace)
	defer t.Stop()
	select {
	case <-c.reaped:
		return fmt.Errorf("%w (%w)", why, c.exit)
	case <-t.C:
		return why
	}
}

// end ends the child, and attributes the error: one from reading is the program's.
func (c *child) end(why error, half []byte) error {
	c.kill()
	switch {
	case errors.Is(why, lines.ErrNotSent):
		return programError{fmt.Errorf("child takes no requests: %w", why)}
	case errors.Is(why, lines.ErrTooLong):
		return programError{fmt.Errorf("child wrote a line of more than %d bytes: %s", LongestLine, quote(half))}
	case errors.Is(why, lines.ErrHalf):
		return programError{fmt.Errorf("child ended in the middle of a line: %s", quote(half))}
	case errors.Is(why, io.EOF), errors.Is(why, os.ErrDeadlineExceeded), errors.Is(why, os.ErrClosed):
		return programError{errors.New("child ended")}
	}
	return why
}

// ask sends a request and waits for the answer until grace after ctx has ended.
// The error wraps ErrUnknown if the child got the request and never answered.
func (c *child) ask(ctx context.Context, r Request, grace time.Duration) (Answer, error) {
	if err := c.ended(); err != nil {
		return Answer{}, fmt.Errorf("%w: %w", errNotAsked, err)
	}
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	late, cancel := after(ctx, grace)
	defer cancel()
	a, err := c.Ask(late, &r)
	switch {
	case err == nil:
		return a, nil
	case errors.Is(err, lines.ErrNotSent) && c.Err() != nil:
		return a, fmt.Errorf("%w: %w", errNotAsked, c.ended())
	case errors.Is(err, lines.ErrNotSent):
		return a, fmt.Errorf("%w: %w", errNotAsked, err)
	case late.Err() != nil:
		r.Options = nil            // they may be secret
		line, _ := json.Marshal(r) // it was sent, so it can be written
		c.Fail(fmt.Errorf("child did not answer %s: %w", line, ctx.Err()))
	}
	return a, fmt.Errorf("%w: %w", clients.ErrUnknown, c.ended())
}

// after is a context that ends grace after ctx has.
func after(ctx context.Context, grace time.Duration) (context.Context, func()) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	timer := make(chan *time.Timer, 1)
	stop := context.AfterFunc(ctx, func() { timer <- time.AfterFunc(grace, cancel) })
	return late, func() {
		cancel()
		if !stop() {
			(<-timer).Stop()
		}
	}
}

// take takes a line of the child's.
func (c *child) take(line []byte, open func(id int64) (*Request, bool)) (int64, Answer, error) {
	a := Answer{line: quote(line)}
	if err := c.read(&a, bytes.TrimSpace(line), open); err != nil {
		return 0, a, programError{err}
	}
	if a.Event != "" {
		return 0, a, nil
	}
	return a.ID, a, nil
}

func (c *child) read(a *Answer, line []byte, open func(id int64) (*Request, bool)) error {
	if err := json.Unmarshal(line, a); err != nil {
		return fmt.Errorf("child wrote %s: not a JSON object of the expected form (what is no answer belongs on standard error): %w", a.line, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.Event != "" {
		return c.event(*a)
	}
	r, ok := open(a.ID)
	switch {
	case !ok:
		return fmt.Errorf("child wrote %s: no request with that id is open", a.line)
	case a.OK == nil:
		return fmt.Errorf(`child wrote %s: an answer needs "ok"`, a.line)
	}
	if *a.OK {
		if err := c.granted(a, r, line); err != nil {
			return fmt.Errorf("child wrote %s: %w", a.line, err)
		}
	}
	return nil
}

// granted checks and keeps the rest of an answer that grants a request.
func (c *child) granted(a *Answer, r *Request, line []byte) error {
	switch r.Op {
	case "open":
		var err error
		a.abilities, err = Declared(line)
		return err
	case acquireOp, downgradeOp:
		a.grant = &childGrant{asked: r.asked, lost: make(chan struct{}), renewals: make(chan clients.Renewal, renewalRoom)}
		if !c.nested {
			c.grants[r.Key] = nil // whose client has released it
		}
		c.grants[r.Key] = append(c.grants[r.Key], a.grant)
	}
	return nil
}

// event takes a line that answers nothing. One of a key that is not held is late.
func (c *child) event(a Answer) error {
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
	if err := SinceWithin(a, 0, history.Now()); err != nil {
		return fmt.Errorf("child wrote %s: %w", a.line, err)
	}
	for _, g := range c.grants[a.Key] {
		if a.Since < g.asked {
			continue // it was of an earlier grant
		}
		select {
		case g.renewals <- clients.Renewal{Since: a.Since, Lease: time.Duration(a.Lease) * time.Millisecond}:
		default: // not received, which only shortens what is known
		}
	}
	return nil
}

// release forgets a grant that is being released: what the child reports about its key from now
// on concerns another.
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

// close asks the child to end, and kills it otherwise.
func (c *child) close() {
	if c.ended() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), childGrace)
		defer cancel()
		// The child need not answer, nor end by itself.
		if _, err := c.ask(ctx, Request{Op: "close"}, 0); err == nil {
			c.in.Close()
			select {
			case <-c.Ended():
			case <-ctx.Done():
			}
		}
		c.Fail(errors.New("closed"))
	}
	c.in.Close()
	c.Wait()
	c.waiting.Wait()
}

func quote(line []byte) string {
	if len(line) > childSays {
		return fmt.Sprintf("%q...", line[:childSays])
	}
	return fmt.Sprintf("%q", line)
}
