//go:build !linux

package nemesis

import "context"

// containers is the agent's Injector; the agent always runs on the engine's Linux.
type containers struct{ LocalInjector }

func newContainers() agentInjector { return containers{} }

func (containers) heal(context.Context) error { return nil }
