//go:build !linux

package nemesis

import (
	"context"

	"github.com/picklock/picklock/compose"
)

// containers are the agent's injector; the agent always runs on the engine's Linux.
type containers struct{ LocalInjector }

func newContainers() agentInjector { return containers{} }

func (containers) allow(string, int) error { return errLinux }

func (containers) ask(context.Context, string, string, *compose.Probe) (string, bool, error) {
	return "", false, errLinux
}

func (containers) sockets(int) (string, error) { return "", errLinux }

func (containers) heal(context.Context) error { return nil }
