package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/workloads"
)

// openWithin is how long a worker may take to open its lock.
const openWithin = 50 * time.Second // longer than the worker allows, so that its reason is known

// workers are the clients' processes.
type workers struct {
	cluster compose.Cluster
	cfg     workloads.Config // the same for all but for name, seed and grants
	rec     *recorder
	failed  chan error // a worker gave up
	// onMessage takes what a worker says besides its events.
	onMessage func(name string, m workloads.Message)

	mu       sync.Mutex
	running  map[string]*worker
	declared map[string]*clients.Abilities // by client
	warnings []string
	workload string // of the sections
	known    bool   // what all locks are
}

// maxWarnings bounds what clients may warn of.
const maxWarnings = 20

func newWorkers(cluster compose.Cluster, rec *recorder, cfg workloads.Config, onMessage func(string, workloads.Message)) *workers {
	return &workers{cluster: cluster, rec: rec, failed: make(chan error, 1), onMessage: onMessage, running: map[string]*worker{}, declared: map[string]*clients.Abilities{}, cfg: cfg}
}

type worker struct {
	name string
	proc *compose.Process
	// ready gives the worker's first word: nil when its lock is open.
	ready chan error
	// drained is closed when its last event was recorded.
	drained chan struct{}
}

// spawn starts a worker and waits until its lock is open; the sections start at
// start.
func (ws *workers) spawn(ctx context.Context, name string, again bool) error {
	proc, err := ws.cluster.Spawn(ctx, compose.Program{Name: name, Role: compose.Client, Args: []string{"worker"}})
	if err != nil {
		return err
	}
	w := &worker{name: name, proc: proc, ready: make(chan error, 1), drained: make(chan struct{})}
	ws.mu.Lock()
	ws.running[name] = w
	ws.mu.Unlock()
	go ws.drain(w)

	ws.mu.Lock()
	cfg := ws.cfg
	ws.mu.Unlock()
	cfg.Process, cfg.Grants, cfg.Again = name, ws.rec.granted(name), again
	cfg.Extra, cfg.TTL = clients.OptionsOf(name, cfg.Extra, cfg.TTL)
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // cannot fail
	cfg.Seed ^= h.Sum64()
	if err := json.NewEncoder(proc.Stdin).Encode(cfg); err != nil {
		return fmt.Errorf("configure %s: %w", name, err)
	}
	t := time.NewTimer(openWithin)
	defer t.Stop()
	select {
	case err := <-w.ready:
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	case <-t.C:
		return fmt.Errorf("%s: its lock was not open after %v", name, openWithin)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (ws *workers) start(name string) error {
	ws.mu.Lock()
	workload := ws.workload
	ws.mu.Unlock()
	return ws.command(name, workloads.Command{Do: workloads.CommandGo, Workload: workload})
}

func (ws *workers) command(name string, cmd workloads.Command) error {
	ws.mu.Lock()
	w := ws.running[name]
	ws.mu.Unlock()
	if w == nil {
		return fmt.Errorf("%s: no such client", name)
	}
	if err := json.NewEncoder(w.proc.Stdin).Encode(cmd); err != nil {
		return fmt.Errorf("tell %s to %s: %w", name, cmd.Do, err)
	}
	return nil
}

// respawn starts a killed client again.
func (ws *workers) respawn(ctx context.Context, name string) error {
	ws.mu.Lock()
	old := ws.running[name]
	ws.mu.Unlock()
	select {
	case <-old.drained:
	case <-ctx.Done():
		return fmt.Errorf("wait for the last events of %s: %w", name, ctx.Err())
	}
	if err := ws.spawn(ctx, name, true); err != nil || ws.cfg.Scripted {
		return err
	}
	return ws.start(name)
}

// drain records what a worker says until it ends.
func (ws *workers) drain(w *worker) {
	defer close(w.drained)
	defer w.proc.Stdout.Close()
	lines := bufio.NewReaderSize(w.proc.Stdout, 64<<10)
	greeted := false
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // a last half line is what SIGKILL leaves behind
			if !greeted {
				w.ready <- errors.Join(errors.New("ended before its lock was open"), w.proc.Err())
			}
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
				ws.fail(fmt.Errorf("read the events of %s: %w", w.name, err))
			}
			if greeted {
				ws.onMessage(w.name, workloads.Message{Error: "its process ended"})
			}
			return
		}
		var m workloads.Message
		if err := json.Unmarshal(line, &m); err != nil {
			w.end(lines)
			err = fmt.Errorf("%s wrote %q on its standard output, which is for what picklock's clients report: print to standard error: %w", w.name, strings.TrimSpace(string(line)), err)
			if !greeted { // spawn waits for ready, and does not look at failed
				w.ready <- err
				return
			}
			ws.fail(err)
			return
		}
		switch {
		case m.Event != nil:
			ws.rec.record(*m.Event)
		case m.Warning != "":
			ws.warn(m.Warning)
		case m.Ready && !greeted:
			greeted = true
			ws.declare(w.name, m.Abilities)
			w.ready <- nil
		case m.Error != "" && !greeted:
			greeted = true
			w.ready <- errors.New(m.Error)
		case m.Error != "":
			ws.fail(fmt.Errorf("%s: %s", w.name, m.Error))
		default:
			ws.onMessage(w.name, m)
		}
	}
}

// endsWithin is how long a client may take to end whose program writes what is none of picklock's lines.
const endsWithin = time.Second

// end reads until the client has ended. A Go test that breaks down says so on standard output first, and only then
// on standard error why: who ends it at its first line never learns the reason.
func (w *worker) end(rest io.Reader) {
	enough := time.AfterFunc(endsWithin, func() { _ = w.proc.Stdout.Close() })
	defer enough.Stop()
	_, _ = io.Copy(io.Discard, rest)
}

// declare keeps what a client's lock has declared.
func (ws *workers) declare(name string, a *clients.Abilities) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.known && a != nil && !slices.ContainsFunc(slices.Collect(maps.Values(ws.declared)), func(b *clients.Abilities) bool { return b != nil && slices.Equal(a.Words(), b.Words()) }) {
		ws.fail(fmt.Errorf("%s: the program declares %q, and declared otherwise before", name, a.Words()))
	}
	ws.declared[name] = a
}

// setKey is the key that clients begin with that are started from now on, and how long they wait
// for answers.
func (ws *workers) setKey(key string, timeout time.Duration) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.cfg.KeyNames, ws.cfg.Timeout = []string{key}, timeout
}

// setWorkload says what the clients do, now that it is known what all their locks are.
func (ws *workers) setWorkload(workload string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.workload, ws.known = workload, true
}

// abilities is what the clients' locks have declared, by client.
func (ws *workers) abilities() map[string]*clients.Abilities {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return maps.Clone(ws.declared)
}

// warn keeps a warning, each once.
func (ws *workers) warn(text string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.warnings) < maxWarnings && !slices.Contains(ws.warnings, text) {
		ws.warnings = append(ws.warnings, text)
	}
}

// warned lists what the clients have warned of.
func (ws *workers) warned() []string {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.Sorted(slices.Values(ws.warnings))
}

func (ws *workers) fail(err error) {
	select {
	case ws.failed <- err:
	default: // the first failure ends the run
	}
}

// stop lets every client finish what it is doing, and waits for it.
func (ws *workers) stop(ctx context.Context, within time.Duration) error {
	ws.mu.Lock()
	running := slices.Collect(maps.Values(ws.running))
	ws.mu.Unlock() // drain needs it for warnings that come until the clients have ended
	var errs []error
	for _, w := range running {
		if err := w.proc.Stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			errs = append(errs, fmt.Errorf("stop %s: %w", w.name, err))
		}
	}
	t := time.NewTimer(within)
	defer t.Stop()
	for _, w := range running {
		select {
		case <-w.drained:
			if err := w.proc.Err(); err != nil {
				errs = append(errs, err)
			}
		case <-ctx.Done():
			return errors.Join(append(errs, fmt.Errorf("abandoned: %w", ctx.Err()))...)
		case <-t.C:
			return errors.Join(append(errs, fmt.Errorf("%s did not stop within %v", w.name, within))...)
		}
	}
	return errors.Join(errs...)
}
