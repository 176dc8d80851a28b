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
)

// Remote is the Injector of an agent that runs where the nodes are, reached over its
// standard input and output.
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
			_ = in.Close() // an agent that sends nonsense has to end, too
			return fmt.Errorf("the agent is gone: %w", err)
		},
	})
	r.clock.ask, r.clock.boot = r.readClock, bootID()
	return r
}

// Do implements Injector.
func (r *Remote) Do(ctx context.Context, op Op) (Result, error) {
	p := params{Op: op}
	if deadline, ok := ctx.Deadline(); ok {
		// A timeout is an answer, too, and has to arrive in time.
		p.Within = int64(time.Until(deadline) * 9 / 10)
	}
	a, err := r.agent.Ask(ctx, request{Version: "2.0", Method: op.Name, Params: p})
	if gone := r.agent.Err(); err != nil && gone != nil {
		return Result{}, gone
	}
	if err != nil {
		return Result{}, fmt.Errorf("agent: %s: %w", op.Name, err)
	}
	if a.Error != nil {
		return Result{}, a.Error
	}
	if a.Result == nil {
		return Result{}, nil
	}
	return *a.Result, nil
}

// Close makes the agent heal what is still on and end, and returns when
// it has.
func (r *Remote) Close(ctx context.Context) error {
	select {
	case <-r.agent.Ended():
		return nil // an earlier call has returned its error
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
	_, err := r.Do(ctx, Op{Name: OpAllow, Container: container, PID: pid})
	return err
}

// Ask puts a probe's question to addr from inside the network namespace; see
// compose.Probe.Answer.
func (r *Remote) Ask(ctx context.Context, netns, addr string, p *compose.Probe) (answer string, ok bool, err error) {
	got, err := r.Do(ctx, Op{Name: OpProbe, NetNS: netns, Addr: addr, Probe: p})
	return got.Text, got.Yes, err
}

// Now reads the monotonic clock of the nodes' kernel in ns (see history.Now). Only the first
// call waits for the agent.
func (r *Remote) Now() int64 { return r.clock.now() }

// readClock reads the nodes' clock once.
func (r *Remote) readClock(ctx context.Context) (now int64, boot string, err error) {
	got, err := r.Do(ctx, Op{Name: OpNow})
	return got.Now, got.Boot, err
}

// Kill ends all processes of the container whose first process that is.
func (r *Remote) Kill(ctx context.Context, pid int) error {
	_, err := r.Do(ctx, Op{Name: OpSignal, PID: pid, Signal: syscall.SIGKILL})
	return err
}
