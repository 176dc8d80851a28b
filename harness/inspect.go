package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/lines"
)

// longestInspection is how long a request or an answer may be, an error's text included.
const longestInspection = 1 << 20

// A script asks the servers what they have for the lock. The one who asks is a node
// of the cluster's network: on the engine of another machine, the servers' addresses
// mean nothing here. Requests and answers are JSON, one a line.
type (
	inspection struct {
		ID     int64  `json:"id"` // 0 in an answer: ready for requests
		Server string `json:"server"`
		Key    string `json:"key"`
		// External is how the server is reached where picklock did not start it.
		External *clients.External `json:"external,omitempty"`
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
	answers := lines.NewServer(out)
	if err := answers.Send(inspected{}); err != nil {
		return fmt.Errorf("say that it is ready: %w", err)
	}
	return lines.Serve(ctx, in, longestInspection, answers, func(ctx context.Context, q inspection) any {
		n, err := info.Inspect(ctx, clients.Options{Servers: []string{q.Server}, External: q.External, Client: "inspector", Log: slog.New(slog.DiscardHandler)}, q.Key)
		a := inspected{ID: q.ID, N: n}
		if err != nil {
			a.Error = err.Error()
		}
		return a
	})
}

// inspector is the harness's end.
type inspector struct {
	proc *compose.Process
	*lines.Client[inspection, inspected]
}

// inspectorName is the node's name.
const inspectorName = "inspector"

// startInspector starts the node that asks, and returns when it can.
func startInspector(ctx context.Context, c compose.Cluster, lock string) (*inspector, error) {
	proc, err := c.Spawn(ctx, compose.Program{Name: inspectorName, Role: compose.Helper, Args: []string{"look", "--lock", lock}})
	if err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	greet := sync.OnceFunc(func() { close(ready) })
	l := &inspector{proc, lines.NewClient(proc.Stdin, proc.Stdout, lines.Protocol[inspection, inspected]{
		Longest: longestInspection,
		Number:  func(q *inspection, id int64) { q.ID = id },
		Take: func(line []byte, _ func(int64) (inspection, bool)) (int64, inspected, error) {
			var a inspected
			if err := json.Unmarshal(line, &a); err != nil {
				return 0, a, fmt.Errorf("it said %q: %w", line, err)
			}
			if a.ID == 0 {
				greet()
			}
			return a.ID, a, nil
		},
		End: func(err error, _ []byte) error {
			if errors.Is(err, io.EOF) {
				err = errors.Join(errors.New("it ended"), proc.Err())
			}
			return err
		},
	})}
	t := time.NewTimer(openWithin)
	defer t.Stop()
	select {
	case <-ready:
		return l, nil
	case <-l.Ended():
		return nil, fmt.Errorf("start inspector: %w", l.Err())
	case <-t.C:
		return nil, fmt.Errorf("inspector was not ready after %v", openWithin)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inspect counts what the one server of o has for a key (see clients.Info.Inspect).
func (l *inspector) inspect(ctx context.Context, o clients.Options, key string) (int, error) {
	server := o.Servers[0]
	a, err := l.Ask(ctx, inspection{Server: server, Key: key, External: o.External})
	switch gone := l.Err(); {
	case err != nil && gone != nil:
		return 0, fmt.Errorf("look at %s: %w", server, gone)
	case err != nil:
		return 0, err
	case a.Error != "":
		return 0, errors.New(a.Error)
	}
	return a.N, nil
}

// stop ends the node and returns when it has ended.
func (l *inspector) stop() error {
	if err := l.proc.Stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("stop inspector: %w", err)
	}
	t := time.NewTimer(10 * time.Second)
	defer t.Stop()
	select {
	case <-l.Ended():
		return l.proc.Err()
	case <-t.C:
		return errors.New("inspector did not stop within 10s")
	}
}
