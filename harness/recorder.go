package harness

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/picklock/picklock/history"
)

// recorder gathers the events of all clients and of the nemesis. They go to disk
// as they arrive, which a crash of ours does not take away, and once more in
// their true order at the end: a paused client's last event arrives late.
type recorder struct {
	path string
	tell func(history.Event) // who wants to know at once

	mu     sync.Mutex
	f      *os.File
	events []history.Event
	grants map[string]int // by process
	err    error
}

func newRecorder(path string, tell func(history.Event)) (*recorder, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("start the history: %w", err)
	}
	return &recorder{path: path, tell: tell, f: f, grants: map[string]int{}}, nil
}

func (r *recorder) record(e history.Event) {
	r.tell(e) // first: a fault may be waiting for this very moment
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Index = int64(len(r.events))
	r.events = append(r.events, e)
	// What names the values that a client writes: its grants, and without a lock its
	// updates.
	if e.F == history.Acquire && e.Type == history.OK || e.F == history.Add && e.Type == history.Invoke && e.Grant == "" {
		r.grants[e.Process]++
	}
	if r.err != nil {
		return
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = r.f.Write(append(line, '\n'))
	}
	if err != nil {
		r.err = fmt.Errorf("write the history: %w", err)
	}
}

func (r *recorder) granted(process string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.grants[process]
}

// finish writes the history in its true order and returns it.
func (r *recorder) finish() ([]history.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.f.Close(); err != nil && r.err == nil {
		r.err = fmt.Errorf("write the history: %w", err)
	}
	if r.err != nil {
		return nil, r.err
	}
	history.Sort(r.events)
	return r.events, history.WriteFile(r.path, r.events)
}
