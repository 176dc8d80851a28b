// Package builtin holds the lock services that are part of the program, so that a run
// on this machine needs nothing installed. Each runs as a process on a node of its
// own, like any other server; it knows nothing of runs.
package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Server is one such service: it serves until ctx ends. args are the words that
// follow its name on the command line.
type Server func(ctx context.Context, args []string) error

// servers is the package's one table, by the names after "picklock server".
func servers() map[string]Server {
	return map[string]Server{
		"dynamodb": dynamoDB,
		"etcd":     etcd,
		"nats":     natsServer,
	}
}

// Names lists the services.
func Names() []string {
	var out []string
	for name := range servers() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Run runs a service by its name.
func Run(ctx context.Context, name string, args []string) error {
	s, ok := servers()[name]
	if !ok {
		return fmt.Errorf("unknown built-in server %q: have %s", name, strings.Join(Names(), ", "))
	}
	return s(ctx, args)
}
