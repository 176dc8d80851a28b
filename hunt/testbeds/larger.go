package testbeds

import (
	"fmt"
	"os"
	"path/filepath"
)

// besideOfLarger is how many runs with all clients there are side by side at most: each has processes of its own, and
// a hunt has few of them.
const besideOfLarger = 3

// logName is the file of what a testbed's process says.
const logName = "testbed.log"

// withAll is the testbed with all clients. It has servers of its own, and is started with its first run: most hunts are
// over before.
func (l *testbed) withAll() (*testbed, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.larger != nil {
		return l.larger, nil
	}
	c := l.config
	c.Clients, c.Settings.Clients, c.Sets = l.clients, len(l.clients), min(max(c.Sets, 1), besideOfLarger)
	c.Dir += "-all-clients"
	if c.Keys != "" {
		c.Keys += "all-" // no other testbed's keys
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of a testbed: %w", err)
	}
	l.larger = &testbed{self: l.self, log: filepath.Join(c.Dir, logName), clients: l.clients, config: c}
	return l.larger, nil
}
