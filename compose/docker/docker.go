// Package docker runs a cluster on a Docker Engine: Compose brings the servers up
// from the images that people deploy, and picklock's own programs run in containers of an
// image that holds nothing else. It touches nothing of the machine that it
// runs on, so the engine may be elsewhere. It does not depend on locks, faults or
// histories.
package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/picklock/picklock/compose"
)

// Labels of everything that a run makes. What carries none is never touched.
const (
	labelAny  = "picklock"      // "1"
	labelRun  = "picklock.run"  // the run's id
	labelNode = "picklock.node" // the node's name
	labelRole = "picklock.role" // the node's role, or roleAgent
)

// roleAgent is the container that holds the nemesis's injector. It ends when the
// other end of its input is closed: as long as it runs, its run is alive.
const roleAgent = "agent"

// Agent is what a cluster needs of the program in the agent container.
type Agent interface {
	// Allow gives a container of the run, and its first process, into its care.
	Allow(ctx context.Context, container string, pid int) error
	// Ask asks a server from inside a network namespace (see compose.Probe.Answer).
	Ask(ctx context.Context, netns, addr string, p *compose.Probe) (answer string, ok bool, err error)
	// Kill ends all processes of the container whose first process that is.
	Kill(ctx context.Context, pid int) error
	// Close heals all faults and ends the agent.
	Close(ctx context.Context) error
}

// Engine is a Docker engine that answers, and the compose command for it.
type Engine struct {
	engine  engine
	access  access
	about   info
	compose []string
}

// Connect finds the engine, as the docker command would, and compose. The error
// says what is missing and what to do about it.
func Connect(ctx context.Context) (*Engine, error) {
	a, err := findAccess()
	if err != nil {
		return nil, err
	}
	e, err := dial(a)
	if err != nil {
		return nil, err
	}
	ictx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	about, err := e.info(ictx)
	if err != nil {
		_ = e.close() // nothing was sent
		return nil, err
	}
	if about.OS != "linux" {
		_ = e.close()
		return nil, fmt.Errorf("the Docker engine at %s runs %s containers: switch it to Linux containers", a.host, about.OS)
	}
	return &Engine{engine: e, access: a, about: about}, nil
}

// Close lets go of the engine.
func (e *Engine) Close() error { return e.engine.close() }

// CPUs is how many processors the engine's machine has.
func (e *Engine) CPUs() int { return e.about.CPUs }

// String says which engine it is.
func (e *Engine) String() string {
	return fmt.Sprintf("Docker %s at %s (%s/%s)", e.about.Version, e.access.host, e.about.OS, e.about.Arch)
}
