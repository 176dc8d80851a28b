package testbeds

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
)

// aside is a testbed beside another one, for schedules that this one cannot run. It is started with the first of them.
type aside struct {
	testbed *testbed
	failed  int    // how often it could not be started
	givenUp string // why it is not tried again; "" as long as it is
}

// startsAside is how often it is tried to start such a testbed: the machine may be too busy for so many clients at one
// moment, or not be made for them.
const startsAside = 2

// logName is the file of what a testbed's process says.
const logName = "testbed.log"

// beside prepares a testbed with another configuration; l.mu is held.
func (l *testbed) beside(c harness.TestbedConfig, folder, keys string) (*testbed, error) {
	c.Dir += "-" + folder
	if c.Keys != "" {
		c.Keys += keys // no other testbed's keys
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of a testbed: %w", err)
	}
	return &testbed{self: l.self, log: filepath.Join(c.Dir, logName), clients: l.clients, besideOfLarger: l.besideOfLarger, config: c}, nil
}

// runAside runs a schedule on a testbed beside this one. Where that cannot be started the schedule is discarded, and the
// hunt goes on without such schedules. what says what is special about it.
func (l *testbed) runAside(ctx context.Context, s *scenarios.Scenario, a *aside, what string) (*hunt.Outcome, error) {
	l.mu.Lock()
	t, why := a.testbed, a.givenUp
	l.mu.Unlock()
	if why == "" {
		out, err := t.Run(ctx, s)
		if err == nil || ctx.Err() != nil || t.hasRun() {
			return out, err
		}
		if why = l.notStarted(a, what, err); why == "" {
			return nil, err
		}
	}
	return &hunt.Outcome{Discarded: why, Unsupported: true}, nil
}

// notStarted notes that a testbed could not be started, and says why it is not tried again; "": it is.
func (l *testbed) notStarted(a *aside, what string, err error) (why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.failed++; a.failed >= startsAside || errors.Is(err, hunt.ErrUnusable) {
		a.givenUp = fmt.Sprintf("%s: %v", what, err)
	}
	return a.givenUp
}

// hasRun says that the testbed could be started.
func (l *testbed) hasRun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.versions != nil
}

// aside are the testbeds beside this one; l.mu is held.
func (l *testbed) aside() []*testbed {
	var out []*testbed
	if l.larger.testbed != nil {
		out = append(out, l.larger.testbed)
	}
	for _, a := range l.varied {
		out = append(out, a.testbed)
	}
	return out
}
