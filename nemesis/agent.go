package nemesis

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/picklock/picklock/internal/lines"
)

// agentInjector is an Injector that touches only what it was allowed to.
type agentInjector interface {
	Injector
	// heal undoes everything that was done and not undone since.
	heal(ctx context.Context) error
}

// ServeAgent answers the requests that come in, until in or ctx ends. Then it heals all
// that is still on, as its caller may have died.
func ServeAgent(ctx context.Context, in io.Reader, out io.Writer) error {
	return serve(ctx, in, out, newContainers())
}

func serve(ctx context.Context, in io.Reader, out io.Writer, injector agentInjector) error {
	err := lines.Serve(ctx, in, longestMessage, lines.NewServer(out), func(ctx context.Context, r request) any {
		return answer(ctx, injector, r)
	})
	hctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), verifyWithin)
	defer cancel()
	return errors.Join(err, injector.heal(hctx))
}

func answer(ctx context.Context, injector Injector, r request) response {
	if r.Params.Within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.Params.Within))
		defer cancel()
	}
	op := r.Params.Op
	op.Name = r.Method
	got, err := injector.Do(ctx, op)
	if err != nil {
		return response{Version: "2.0", ID: r.ID, Error: wireError(err)}
	}
	return response{Version: "2.0", ID: r.ID, Result: &got}
}
