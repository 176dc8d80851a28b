package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
)

// A script asks the servers what they have for the lock. The one who asks is a node
// of the cluster's network: on the engine of another machine, the servers' addresses
// mean nothing here. Requests and answers are JSON, one a line.
type (
	inspection struct {
		ID     int64  `json:"id"` // 0 in an answer: ready for requests
		Server string `json:"server"`
		Key    string `json:"key"`
	}
	inspected struct {
		ID    int64  `json:"id"`
		N     int    `json:"n"`
		Error string `json:"error,omitempty"`
	}
)

// ServeInspections answers what the harness asks of the servers of a lock, until in ends.
func ServeInspections(ctx context.Context, locks *clients.Table, lock string, in io.Reader, out io.Writer) error {
	info, err := locks.Lookup(lock)
	if err != nil {
		return err
	}
	if info.Inspect == nil {
		return fmt.Errorf("lock %s cannot be looked at from outside", lock)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		answering sync.WaitGroup
		mu        sync.Mutex
		answers   = json.NewEncoder(out)
	)
	defer answering.Wait()
	if err := answers.Encode(inspected{}); err != nil {
		return fmt.Errorf("say that it is ready: %w", err)
	}
	for requests := json.NewDecoder(in); ; {
		var q inspection
		if err := requests.Decode(&q); errors.Is(err, io.EOF) {
			cancel() // nobody reads the answers any more
			return nil
		} else if err != nil {
			return fmt.Errorf("read what to look at: %w", err)
		}
		answering.Go(func() {
			n, err := info.Inspect(ctx, q.Server, q.Key)
			a := inspected{ID: q.ID, N: n}
			if err != nil {
				a.Error = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			_ = answers.Encode(a) // whoever asked is gone, which the end of input tells
		})
	}
}

// inspector is the harness's end.
type inspector struct {
	proc *compose.Process

	mu      sync.Mutex
	next    int64
	waiting map[int64]chan inspected
	err     error         // why there are no more answers
	ended   chan struct{} // closed then
}

// startInspector starts the node that asks, and returns when it can.
func startInspector(ctx context.Context, c compose.Cluster, lock string) (*inspector, error) {
	proc, err := c.Spawn(ctx, compose.Program{Name: "inspector", Role: compose.Helper, Args: []string{"look", "--lock", lock}})
	if err != nil {
		return nil, err
	}
	l := &inspector{proc: proc, waiting: map[int64]chan inspected{}, ended: make(chan struct{})}
	ready := make(chan inspected, 1)
	l.waiting[0] = ready
	go l.read()
	t := time.NewTimer(openWithin)
	defer t.Stop()
	select {
	case <-ready:
		return l, nil
	case <-l.ended:
		return nil, fmt.Errorf("start inspector: %w", l.err)
	case <-t.C:
		return nil, fmt.Errorf("inspector was not ready after %v", openWithin)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *inspector) read() {
	defer close(l.ended)
	defer l.proc.Stdout.Close()
	lines := bufio.NewReader(l.proc.Stdout)
	for {
		text, err := lines.ReadBytes('\n')
		var a inspected
		if err == nil {
			if err = json.Unmarshal(text, &a); err != nil {
				err = fmt.Errorf("it said %q: %w", text, err)
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.Join(errors.New("it ended"), l.proc.Err())
			}
			l.mu.Lock()
			l.err = err
			l.mu.Unlock()
			return
		}
		l.mu.Lock()
		c := l.waiting[a.ID]
		delete(l.waiting, a.ID)
		l.mu.Unlock()
		if c != nil {
			c <- a // has room for one, and gets only one
		}
	}
}

// look counts what a server has for a key (see clients.Info.Inspect).
func (l *inspector) inspect(ctx context.Context, server, key string) (int, error) {
	c := make(chan inspected, 1)
	l.mu.Lock()
	l.next++
	id := l.next
	l.waiting[id] = c
	err := json.NewEncoder(l.proc.Stdin).Encode(inspection{ID: id, Server: server, Key: key}) // under the lock, so that lines stay whole
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting, id)
	}()
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", server, err)
	}
	select {
	case a := <-c:
		if a.Error != "" {
			return 0, errors.New(a.Error)
		}
		return a.N, nil
	case <-l.ended:
		return 0, fmt.Errorf("look at %s: %w", server, l.err)
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// stop ends the node and returns when it has ended.
func (l *inspector) stop() error {
	if err := l.proc.Stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("stop inspector: %w", err)
	}
	t := time.NewTimer(10 * time.Second)
	defer t.Stop()
	select {
	case <-l.ended:
		return l.proc.Err()
	case <-t.C:
		return errors.New("inspector did not stop within 10s")
	}
}
