package nemesis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/lines"
	"github.com/picklock/picklock/nemesis/clock"
	"github.com/picklock/picklock/nemesis/wire"
)

// Remote are the injector of an agent that runs where the nodes are, reached over its
// standard input and output. Besides Injector it has the few abilities that a run
// needs there: to ask servers, and to read the clock of the nodes' kernel.
type Remote struct {
	in    io.WriteCloser
	agent *lines.Client[request, response]
	clock farClock
}

// NewRemote speaks to the agent behind in and out. why says how it ended, once it
// has; it may be nil.
func NewRemote(in io.WriteCloser, out io.ReadCloser, why func() error) *Remote {
	r := &Remote{in: in}
	r.agent = lines.NewClient(in, out, lines.Protocol[request, response]{
		Longest: longestMessage,
		Number:  func(q *request, id int64) { q.ID = uint64(id) },
		Take: func(line []byte, _ func(int64) (request, bool)) (int64, response, error) {
			var a response
			if err := json.Unmarshal(line, &a); err != nil {
				return 0, a, fmt.Errorf("it said %q: %w", line, err)
			}
			return int64(a.ID), a, nil
		},
		End: func(err error, _ []byte) error {
			if errors.Is(err, io.EOF) {
				err = errors.New("it ended")
				if why != nil {
					if how := why(); how != nil {
						err = how
					}
				}
			}
			_ = in.Close() // one that talks nonsense is to end, too
			return fmt.Errorf("the agent is gone: %w", err)
		},
	})
	r.clock.ask, r.clock.boot = r.readClock, bootID()
	return r
}

func (r *Remote) call(ctx context.Context, method string, p params) (result, error) {
	if deadline, ok := ctx.Deadline(); ok {
		// That time was up is an answer, too, and has to arrive in time.
		p.Within = int64(time.Until(deadline) * 9 / 10)
	}
	a, err := r.agent.Ask(ctx, request{Version: "2.0", Method: method, Params: p})
	if gone := r.agent.Err(); err != nil && gone != nil {
		return result{}, gone
	}
	if err != nil {
		return result{}, fmt.Errorf("agent: %s: %w", method, err)
	}
	if a.Error != nil {
		return result{}, a.Error
	}
	if a.Result == nil {
		return result{}, nil
	}
	return *a.Result, nil
}

// Close makes the agent undo what is left of its doings and end, and returns when
// it has.
func (r *Remote) Close(ctx context.Context) error {
	select {
	case <-r.agent.Ended():
		return nil // whatever its end was, it has been told
	default:
	}
	if err := r.in.Close(); err != nil {
		return fmt.Errorf("end the agent: %w", err)
	}
	select {
	case <-r.agent.Ended():
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

// Bar implements Injector.
func (r *Remote) Bar(ctx context.Context, netns string, from, to []string) error {
	_, err := r.call(ctx, "bar", params{NetNS: netns, From: from, To: to})
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

// Wire implements Injector.
func (r *Remote) Wire(ctx context.Context, netns string, o wire.Order) (wire.Report, error) {
	got, err := r.call(ctx, "wire", params{NetNS: netns, Wire: o})
	if got.Wire == nil {
		return wire.Report{}, err
	}
	return *got.Wire, err
}

// SetClock implements Injector.
func (r *Remote) SetClock(ctx context.Context, pid int, to clock.Setting) error {
	_, err := r.call(ctx, "shift", params{PID: pid, clockSetting: wireClock(to)})
	return err
}

// ReadClock implements Injector.
func (r *Remote) ReadClock(ctx context.Context, pid int) (clock.Setting, error) {
	got, err := r.call(ctx, "offset", params{PID: pid})
	return got.clock(), err
}

// Clock implements Injector.
func (r *Remote) Clock(ctx context.Context) error {
	_, err := r.call(ctx, "clock", params{})
	return err
}
