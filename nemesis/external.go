package nemesis

import (
	"errors"
	"fmt"
	"strings"

	"github.com/picklock/picklock/compose"
)

// errExternal marks faults that would touch a service which runs outside of the cluster.
// Its node is only a forwarder to it: a fault of the forwarder would be no fault of the
// service, and picklock may not touch the service.
var errExternal = errors.New("picklock has not started it and does nothing to it. Possible are faults of clients (pause:holder) and of their links (partition:client, hold, slow)")

// linker is a fault of links.
type linker interface{ on() []directedLink }

func (p *partition) on() []directedLink { return p.links }
func (h *hold) on() []directedLink      { return h.links }
func (s *shaping) on() []directedLink   { return s.links }
func (r *reset) on() []directedLink     { return r.links }

// validateTargets returns an error that wraps errExternal if the fault would touch a service which
// runs outside. What it does to links is done at this end of them.
func (e *Env) validateTargets(k Kind, f Fault) error {
	l, ok := f.(linker)
	if !ok {
		for _, name := range f.Nodes() {
			if n, _ := e.node(name); n.External != "" {
				return fmt.Errorf("%s of %s, which is %s: %w", k.Name, name, n.External, errExternal)
			}
		}
		return nil
	}
	for _, x := range l.on() {
		from, _ := e.node(x.from)
		to, _ := e.node(x.to)
		if external(from, to) {
			return fmt.Errorf("%s between %s and %s, which are %s and %s: %w", k.Name, from.Name, to.Name, from.External, to.External, errExternal)
		}
	}
	return nil
}

// external says that both nodes are services which run outside: they speak to each other
// where picklock is not.
func external(a, b compose.Node) bool { return a.External != "" && b.External != "" }

// outside lists the services which run outside.
func (e *Env) outside() []string {
	var out []string
	if e.Cluster == nil {
		return nil
	}
	for _, n := range e.Cluster.Nodes() {
		if n.External != "" {
			out = append(out, n.External)
		}
	}
	return out
}

// leftAlone says what All does not do where a service runs outside; "" where none does.
func (e *Env) leftAlone() string {
	at := e.outside()
	if len(at) == 0 {
		return ""
	}
	return fmt.Sprintf("--faults %s touches clients and their links only: %s was not started by picklock", All, strings.Join(at, ", "))
}

// hasTargets returns an error that wraps errExternal for a kind that hits only servers
// where all of them run outside.
func (e *Env) hasTargets(k Kind) error {
	at := e.outside()
	if !k.Servers || len(at) == 0 {
		return nil
	}
	for _, n := range e.Cluster.Nodes() {
		if n.Role == compose.Server && n.External == "" {
			return nil
		}
	}
	return fmt.Errorf("%s of %s: %w", k.Name, strings.Join(at, ", "), errExternal)
}
