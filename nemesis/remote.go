package nemesis

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/picklock/picklock/compose"
)

// Remote are the injector of an agent that runs where the nodes are, reached over its
// standard input and output. Besides Injector it has the few abilities that a run
// needs there: to ask servers, and to read the clock of the nodes' kernel.
type Remote struct {
	in   io.WriteCloser
	done chan struct{} // closed when the agent says no more
	why  func() error

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan response
	err     error

	clock farClock
}

// NewRemote speaks to the agent behind in and out. why says how it ended, once it
// has; it may be nil.
func NewRemote(in io.WriteCloser, out io.ReadCloser, why func() error) *Remote {
	r := &Remote{in: in, why: why, done: make(chan struct{}), waiting: map[uint64]chan response{}}
	r.clock.ask, r.clock.boot = r.readClock, bootID()
	go r.read(out)
	return r
}

func (r *Remote) read(out io.ReadCloser) {
	defer close(r.done)
	defer out.Close()
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadBytes('\n')
		var a response
		if err == nil {
			if err = json.Unmarshal(text, &a); err != nil {
				err = fmt.Errorf("it said %q: %w", text, err)
			}
		}
		if err != nil {
			r.fail(err)
			return
		}
		r.mu.Lock()
		c := r.waiting[a.ID]
		delete(r.waiting, a.ID)
		r.mu.Unlock()
		if c != nil {
			c <- a // has room for one, and gets only one
		}
	}
}

func (r *Remote) fail(err error) {
	if errors.Is(err, io.EOF) {
		err = errors.New("it ended")
		if r.why != nil {
			if how := r.why(); how != nil {
				err = how
			}
		}
	}
	_ = r.in.Close() // one that talks nonsense is to end, too
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = fmt.Errorf("the agent is gone: %w", err)
}

func (r *Remote) call(ctx context.Context, method string, p params) (result, error) {
	if deadline, ok := ctx.Deadline(); ok {
		// That time was up is an answer, too, and has to arrive in time.
		p.Within = int64(time.Until(deadline) * 9 / 10)
	}
	c := make(chan response, 1)
	r.mu.Lock()
	r.next++
	id := r.next
	r.waiting[id] = c
	text, err := line(request{"2.0", id, method, p})
	if err == nil {
		_, err = r.in.Write(text) // under the lock, so that lines stay whole
	}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.waiting, id)
		r.mu.Unlock()
	}()
	if err != nil {
		select {
		case <-r.done: // the reason why it cannot be written to
		case <-time.After(time.Second):
			return result{}, fmt.Errorf("tell the agent: %w", err)
		}
	}
	select {
	case a := <-c:
		if a.Error != nil {
			return result{}, a.Error
		}
		if a.Result == nil {
			return result{}, nil
		}
		return *a.Result, nil
	case <-r.done:
		r.mu.Lock()
		defer r.mu.Unlock()
		return result{}, r.err
	case <-ctx.Done():
		return result{}, fmt.Errorf("agent: %s: %w", method, ctx.Err())
	}
}

// Close makes the agent undo what is left of its doings and end, and returns when
// it has.
func (r *Remote) Close(ctx context.Context) error {
	select {
	case <-r.done:
		return nil // whatever its end was, it has been told
	default:
	}
	if err := r.in.Close(); err != nil {
		return fmt.Errorf("end the agent: %w", err)
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end the agent: %w", ctx.Err())
	}
}

// Allow lets the agent touch the processes of a container of this run, the first of
// which has that process id now. An earlier process id of the same container is
// forgotten.
func (r *Remote) Allow(ctx context.Context, container string, pid int) error {
	_, err := r.call(ctx, "allow", params{Container: container, PID: pid})
	return err
}

// Ask puts a probe's question to addr from inside the network namespace; see
// compose.Probe.Answer.
func (r *Remote) Ask(ctx context.Context, netns, addr string, p *compose.Probe) (answer string, ok bool, err error) {
	a := params{NetNS: netns, Addr: addr, Port: p == nil}
	if p != nil {
		a.Send, a.Expect, a.TLS = p.Send, p.Expect, p.TLS
	}
	got, err := r.call(ctx, "ask", a)
	return got.Text, got.Yes, err
}

// Sockets reads the table of TCP sockets of a node, /proc/PID/net/tcp.
func (r *Remote) Sockets(ctx context.Context, pid int) (string, error) {
	got, err := r.call(ctx, "sockets", params{PID: pid})
	return got.Table, err
}

// Now reads the monotonic clock of the nodes' kernel in ns (see history.Now), without
// asking the agent but for the first time.
func (r *Remote) Now() int64 { return r.clock.now() }

// readClock reads the nodes' clock once.
func (r *Remote) readClock(ctx context.Context) (now int64, boot string, err error) {
	got, err := r.call(ctx, "now", params{})
	return got.Now, got.Boot, err
}

// Kill ends all processes of the container whose first process that is.
func (r *Remote) Kill(ctx context.Context, pid int) error { return r.Signal(ctx, pid, syscall.SIGKILL) }

// Signal implements Injector.
func (r *Remote) Signal(ctx context.Context, pid int, sig syscall.Signal) error {
	_, err := r.call(ctx, "signal", params{PID: pid, Signal: int(sig)})
	return err
}

// Stopped implements Injector.
func (r *Remote) Stopped(ctx context.Context, pid int) (bool, error) {
	got, err := r.call(ctx, "stopped", params{PID: pid})
	return got.Yes, err
}

// Drop implements Injector.
func (r *Remote) Drop(ctx context.Context, netns string, from []string) error {
	_, err := r.call(ctx, "drop", params{NetNS: netns, From: from})
	return err
}

// Dropped implements Injector.
func (r *Remote) Dropped(ctx context.Context, netns string) (map[string]uint64, error) {
	got, err := r.call(ctx, "dropped", params{NetNS: netns})
	return got.Dropped, err
}

// Reach implements Injector.
func (r *Remote) Reach(ctx context.Context, netns, addr string) (bool, error) {
	got, err := r.call(ctx, "reach", params{NetNS: netns, Addr: addr})
	return got.Yes, err
}

// Shift implements Injector.
func (r *Remote) Shift(ctx context.Context, pid int, offset time.Duration) error {
	_, err := r.call(ctx, "shift", params{PID: pid, Offset: int64(offset)})
	return err
}

// Offset implements Injector.
func (r *Remote) Offset(ctx context.Context, pid int) (time.Duration, error) {
	got, err := r.call(ctx, "offset", params{PID: pid})
	return time.Duration(got.Offset), err
}

// Clock implements Injector.
func (r *Remote) Clock(ctx context.Context) error {
	_, err := r.call(ctx, "clock", params{})
	return err
}
