package harness

import (
	"context"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/compose/local"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/nemesis"
)

// Runtime is a way to run a cluster.
type Runtime interface {
	Name() string // as given to --runtime
	Start(ctx context.Context, def *compose.Definition, opts compose.Options) (compose.Cluster, error)
	// Injector works where the nodes are.
	Injector() nemesis.Injector
	// Isolated: every node has a network of its own.
	Isolated() bool
	// Now reads the monotonic clock of the nodes' kernel in ns (see history.Now).
	Now() int64
}

// runtimeFlags are what the command line needs to choose the runtime again; none for
// the one that is used anyway.
func runtimeFlags(r Runtime) []string {
	if r == nil || r.Name() == "local" {
		return nil
	}
	flags := []string{"--runtime", r.Name()}
	if more, ok := r.(interface{ Flags() []string }); ok {
		flags = append(flags, more.Flags()...)
	}
	return flags
}

// Local is the runtime without Docker.
type Local struct{ Sandbox *local.Sandbox }

// Name implements Runtime.
func (Local) Name() string { return "local" }

// Start implements Runtime.
func (l Local) Start(ctx context.Context, def *compose.Definition, opts compose.Options) (compose.Cluster, error) {
	c, err := l.Sandbox.Start(ctx, def, opts)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Injector implements Runtime.
func (Local) Injector() nemesis.Injector { return nemesis.NewLocalInjector() }

// Isolated implements Runtime.
func (l Local) Isolated() bool { return l.Sandbox.Isolated }

// Now implements Runtime.
func (Local) Now() int64 { return history.Now() }
