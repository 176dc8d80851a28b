// Package docker is the harness's runtime on a Docker engine. It is apart from the
// harness so that who does without an engine does without the engine's client, too.
package docker

import (
	"context"
	"errors"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/compose/docker"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/nemesis"
)

// Runtime runs clusters on a Docker engine.
type Runtime struct {
	Engine *docker.Engine
	// ClientImage is an image to put the clients' program into; see docker.Options.
	ClientImage string

	injector *nemesis.Remote
}

// Name implements Runtime.
func (*Runtime) Name() string { return "docker" }

// Flags are what the command line needs besides --runtime.
func (d *Runtime) Flags() []string {
	if d.ClientImage == "" {
		return nil
	}
	return []string{"--client-image", d.ClientImage}
}

// Start implements Runtime.
func (d *Runtime) Start(ctx context.Context, def *compose.Definition, opts compose.Options) (compose.Cluster, error) {
	c, err := d.Engine.Start(ctx, def, docker.Options{
		Options: opts, ClientImage: d.ClientImage,
		NewAgent: func(p *compose.Process) docker.Agent {
			d.injector = nemesis.NewRemote(p.Stdin, p.Stdout, p.Err)
			return d.injector
		},
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Injector implements Runtime. Before Start it can only say that nothing is known to
// stand in the way of any fault.
func (d *Runtime) Injector() nemesis.Injector {
	if d.injector == nil {
		return unasked{}
	}
	return d.injector
}

// unasked is the injector of an engine on which no agent runs yet.
type unasked struct{}

// Do implements nemesis.Injector.
func (unasked) Do(_ context.Context, op nemesis.Op) (r nemesis.Result, err error) {
	if op.Name != nemesis.OpTryClock && op.Name != nemesis.OpPackets {
		err = errors.ErrUnsupported
	}
	return r, err
}

// Isolated implements Runtime.
func (*Runtime) Isolated() bool { return true }

// Now implements Runtime: the nodes' kernel may be another machine's.
func (d *Runtime) Now() int64 {
	if d.injector == nil {
		return history.Now()
	}
	return d.injector.Now()
}
