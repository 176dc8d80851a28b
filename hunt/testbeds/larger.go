package testbeds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
)

// larger is the testbed of schedules with more clients than all others have. It has servers of its own, and is
// started with the first such schedule: most hunts are over before.
type larger struct {
	testbed *testbed
	failed  int    // how often it could not be started
	givenUp string // why it is not tried again; "" as long as it is
}

// besideOfLarger is how many runs there are side by side at most on a larger testbed, where a client is a process of
// picklock's. A library's is often a virtual machine besides: there they follow one another.
const besideOfLarger = 3

// startsOfLarger is how often it is tried to start a larger testbed: the machine may be too busy for so many clients at one
// moment, or not be made for them.
const startsOfLarger = 2

// logName is the file of what a testbed's process says.
const logName = "testbed.log"

// needsMore says that a schedule has a client that this testbed has not, and a larger one has.
func (l *testbed) needsMore(s *scenarios.Scenario) bool {
	return slices.ContainsFunc(s.Clients, func(c string) bool { return !slices.Contains(l.config.Clients, c) && slices.Contains(l.clients, c) })
}

// runOnLarger runs a schedule on the larger testbed. Where that cannot be started the schedule is discarded, and the
// hunt goes on without such schedules.
func (l *testbed) runOnLarger(ctx context.Context, s *scenarios.Scenario) (*hunt.Outcome, error) {
	t, why, err := l.withAll()
	if err != nil {
		return nil, err
	}
	if why == "" {
		out, err := t.Run(ctx, s)
		if err == nil || ctx.Err() != nil || t.hasRun() {
			return out, err
		}
		if why = l.notStarted(err); why == "" {
			return nil, err
		}
	}
	return &hunt.Outcome{Discarded: why, Unsupported: true}, nil
}

// withAll is the testbed with all clients, or why there is none.
func (l *testbed) withAll() (*testbed, string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.larger.testbed != nil {
		return l.larger.testbed, l.larger.givenUp, nil
	}
	c := l.config
	c.Clients, c.Settings.Clients, c.Sets = l.clients, len(l.clients), min(max(c.Sets, 1), max(l.besideOfLarger, 1))
	c.Dir += "-all-clients"
	if c.Keys != "" {
		c.Keys += "all-" // no other testbed's keys
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, "", fmt.Errorf("make the folder of a testbed: %w", err)
	}
	l.larger.testbed = &testbed{self: l.self, log: filepath.Join(c.Dir, logName), clients: l.clients, config: c}
	return l.larger.testbed, "", nil
}

// notStarted notes that the larger testbed could not be started, and says why it is not tried again; "": it is.
func (l *testbed) notStarted(err error) (why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.larger.failed++; l.larger.failed >= startsOfLarger || errors.Is(err, hunt.ErrUnusable) {
		l.larger.givenUp = fmt.Sprintf("with %d clients: %v", len(l.clients), err)
	}
	return l.larger.givenUp
}

// hasRun says that the testbed could be started.
func (l *testbed) hasRun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.versions != nil
}
