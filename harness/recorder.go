package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/picklock/picklock/history"
)

// recorder writes the events of all clients and of the nemesis to disk as they arrive,
// which a crash of picklock does not take away. They are put into their true order at the
// end: a paused client's last event arrives late. None is kept in memory.
type recorder struct {
	path   string
	broken chan struct{} // closed with the first write that fails, for the watch on the run

	mu     sync.Mutex
	tell   func(history.Event) // who wants to know at once
	f      *os.File
	seen   int64
	grants map[string]int // by process
	err    error
}

func newRecorder(path string) (*recorder, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("start the history: %w", err)
	}
	return &recorder{path: path, broken: make(chan struct{}), tell: func(history.Event) {}, f: f, grants: map[string]int{}}, nil
}

// unwritten is one that writes nothing: who listens keeps what is wanted.
func unwritten() *recorder { return &recorder{tell: func(history.Event) {}, grants: map[string]int{}} }

// onEvent calls f with every event from now on, before it is written: a fault may be
// waiting for this very moment.
func (r *recorder) onEvent(f func(history.Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell = f
}

func (r *recorder) listener() func(history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tell
}

func (r *recorder) record(e history.Event) {
	r.listener()(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Index = r.seen
	r.seen++
	// What names the values that a client writes: its grants, and without a lock its
	// updates.
	if e.F == history.Acquire && e.Type == history.OK || e.F == history.Add && e.Type == history.Invoke && e.Grant == "" {
		r.grants[e.Process]++
	}
	if r.err != nil || r.f == nil {
		return
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = r.f.Write(append(line, '\n'))
	}
	if err != nil {
		r.err = fmt.Errorf("write the history: %w", err)
		close(r.broken)
	}
}

func (r *recorder) granted(process string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.grants[process]
}

// finish puts the history into its true order. It returns the first error that there was in writing it.
func (r *recorder) finish() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.f == nil {
		return nil
	}
	if err := r.f.Close(); err != nil && r.err == nil {
		r.err = fmt.Errorf("write the history: %w", err)
	}
	if r.err != nil {
		return r.err
	}
	return history.SortFile(r.path)
}
