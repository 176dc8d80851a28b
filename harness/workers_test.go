package harness

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/workloads"
)

// talker is a client's process that says something when it is configured, and something when it is stopped.
type talker struct {
	compose.Cluster
	out         *io.PipeWriter
	says, parts string
}

func (c *talker) Spawn(context.Context, compose.Program) (*compose.Process, error) {
	r, w := io.Pipe()
	c.out = w
	return &compose.Process{Stdin: c, Stdout: r, Err: func() error { return nil }}, nil
}

func (c *talker) Write(b []byte) (int, error) {
	go func() {
		_, _ = io.WriteString(c.out, c.says)
	}()
	return len(b), nil
}

func (c *talker) Close() error {
	go func() {
		_, _ = io.WriteString(c.out, c.parts)
		c.out.Close()
	}()
	return nil
}

func spawned(t *testing.T, c *talker) (*workers, error) {
	t.Helper()
	ws := newWorkers(c, unwritten(), workloads.Config{}, func(string, workloads.Message) {})
	return ws, ws.spawn(t.Context(), "c1", false)
}

// A client that warns of something while it is being stopped ends as any other.
func TestWarningWhileStopped(t *testing.T) {
	ws, err := spawned(t, &talker{says: `{"ready":true}` + "\n", parts: `{"warning":"late"}` + "\n"})
	if err != nil {
		t.Fatal(err)
	}
	if err := ws.stop(t.Context(), 5*time.Second); err != nil {
		t.Error(err)
	}
	if got := ws.warned(); len(got) != 1 || got[0] != "late" {
		t.Errorf("warnings %q", got)
	}
}

// A client whose program writes what is none of picklock's lines before its lock is open never opens it: that is known at once.
func TestNonsenseInsteadOfReady(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ws := newWorkers(&talker{says: "opening the lock\n"}, unwritten(), workloads.Config{}, func(string, workloads.Message) {})
	err := ws.spawn(ctx, "c1", false)
	if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `c1 wrote "opening the lock" on its standard output`) {
		t.Error(err)
	}
}
