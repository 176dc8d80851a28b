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
	"github.com/picklock/picklock/history"
)

// agentInjector are injector that touch only what they were allowed to, and that
// remember what they did.
type agentInjector interface {
	Injector
	allow(container string, pid int) error
	ask(ctx context.Context, netns, addr string, p *compose.Probe) (answer string, ok bool, err error)
	sockets(pid int) (string, error)
	// heal undoes everything that was done and not undone since.
	heal(ctx context.Context) error
}

// ServeAgent answers the requests that come in, until in or ctx ends; then it
// undoes all harm that is still done: whoever sent it out may have died.
func ServeAgent(ctx context.Context, in io.Reader, out io.Writer) error {
	return serve(ctx, in, out, newContainers())
}

func serve(ctx context.Context, in io.Reader, out io.Writer, injector agentInjector) error {
	requests := make(chan []byte)
	ended := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		lines := bufio.NewReader(in)
		for {
			text, err := lines.ReadBytes('\n')
			if err != nil {
				ended <- err
				return
			}
			select {
			case requests <- text:
			case <-stop:
				return
			}
		}
	}()
	defer close(stop)
	s := &server{injector: injector, out: out}
	err := s.run(ctx, requests, ended)
	s.answering.Wait()
	hctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), verifyWithin)
	defer cancel()
	return errors.Join(err, s.injector.heal(hctx))
}

type server struct {
	injector  agentInjector
	answering sync.WaitGroup
	mu        sync.Mutex
	out       io.Writer
}

func (s *server) run(ctx context.Context, requests <-chan []byte, ended <-chan error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		select {
		case text := <-requests:
			var r request
			if err := json.Unmarshal(text, &r); err != nil {
				return fmt.Errorf("read request %q: %w", text, err)
			}
			s.answering.Go(func() { s.answer(ctx, r) })
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read requests: %w", err)
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *server) answer(ctx context.Context, r request) {
	if r.Params.Within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.Params.Within))
		defer cancel()
	}
	a := response{Version: "2.0", ID: r.ID}
	got, err := s.do(ctx, r.Method, r.Params)
	if err != nil {
		a.Error = wireError(err)
	} else {
		a.Result = &got
	}
	text, err := line(a)
	if err != nil {
		return // strings and numbers only: it does not happen
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(text) // whoever asked is gone, which the end of input tells
}

func (s *server) do(ctx context.Context, method string, p params) (got result, err error) {
	switch method {
	case "allow":
		err = s.injector.allow(p.Container, p.PID)
	case "ask":
		probe := &compose.Probe{Send: p.Send, Expect: p.Expect, TLS: p.TLS}
		if p.Port {
			probe = nil
		}
		got.Text, got.Yes, err = s.injector.ask(ctx, p.NetNS, p.Addr, probe)
	case "sockets":
		got.Table, err = s.injector.sockets(p.PID)
	case "now":
		got.Now, got.Boot = history.Now(), bootID()
	case "signal":
		err = s.injector.Signal(ctx, p.PID, syscall.Signal(p.Signal))
	case "stopped":
		got.Yes, err = s.injector.Stopped(ctx, p.PID)
	case "drop":
		err = s.injector.Drop(ctx, p.NetNS, p.From)
	case "dropped":
		got.Dropped, err = s.injector.Dropped(ctx, p.NetNS)
	case "reach":
		got.Yes, err = s.injector.Reach(ctx, p.NetNS, p.Addr)
	case "shift":
		err = s.injector.Shift(ctx, p.PID, time.Duration(p.Offset))
	case "offset":
		var d time.Duration
		d, err = s.injector.Offset(ctx, p.PID)
		got.Offset = int64(d)
	case "clock":
		err = s.injector.Clock(ctx)
	default:
		err = fmt.Errorf("unknown method %q", method)
	}
	return got, err
}
