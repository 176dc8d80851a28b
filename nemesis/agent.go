package nemesis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/lines"
	"github.com/picklock/picklock/nemesis/clock"
	"github.com/picklock/picklock/nemesis/wire"
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
	s := &server{injector}
	err := lines.Serve(ctx, in, longestMessage, lines.NewServer(out), s.answer)
	hctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), verifyWithin)
	defer cancel()
	return errors.Join(err, s.injector.heal(hctx))
}

type server struct{ injector agentInjector }

func (s *server) answer(ctx context.Context, r request) any {
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
	return a
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
	case "bar":
		err = s.injector.Bar(ctx, p.NetNS, p.From, p.To)
	case "dropped":
		got.Dropped, err = s.injector.Dropped(ctx, p.NetNS)
	case "reach":
		got.Yes, err = s.injector.Reach(ctx, p.NetNS, p.Addr)
	case "wire":
		var r wire.Report
		r, err = s.injector.Wire(ctx, p.NetNS, p.Wire)
		got.Wire = &r
	case "shift":
		err = s.injector.SetClock(ctx, p.PID, p.clock())
	case "offset":
		var c clock.Setting
		c, err = s.injector.ReadClock(ctx, p.PID)
		got.clockSetting = wireClock(c)
	case "clock":
		err = s.injector.Clock(ctx)
	default:
		err = fmt.Errorf("unknown method %q", method)
	}
	return got, err
}
