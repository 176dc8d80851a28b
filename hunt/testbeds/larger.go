package testbeds

import (
	"context"
	"fmt"
	"slices"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
)

// besideOfLarger is how many runs there are side by side at most on a larger testbed, where a client is a process of
// picklock's. A library's is often a virtual machine besides: there they follow one another.
const besideOfLarger = 3

// needsMore says that a schedule has a client that this testbed has not, and a larger one has.
func (l *testbed) needsMore(s *scenarios.Scenario) bool {
	return slices.ContainsFunc(s.Clients, func(c string) bool { return !slices.Contains(l.config.Clients, c) && slices.Contains(l.clients, c) })
}

// runOnLarger runs a schedule on the larger testbed, which has servers of its own, and is started with the first such
// schedule: most hunts are over before.
func (l *testbed) runOnLarger(ctx context.Context, s *scenarios.Scenario) (*hunt.Outcome, error) {
	if err := l.withAll(); err != nil {
		return nil, err
	}
	return l.runAside(ctx, s, &l.larger, fmt.Sprintf("with %d clients", len(l.clients)))
}

// withAll prepares the testbed with all clients.
func (l *testbed) withAll() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.larger.testbed != nil {
		return nil
	}
	c := l.config
	c.Clients, c.Settings.Clients, c.Sets = l.clients, len(l.clients), min(max(c.Sets, 1), max(l.besideOfLarger, 1))
	t, err := l.beside(c, "all-clients", "all-")
	l.larger.testbed = t
	return err
}
