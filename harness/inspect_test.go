package harness

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/compose"
)

// inProcess is a cluster whose only node is a goroutine.
type inProcess struct {
	compose.Cluster
	ended chan struct{}
	err   error
}

func (c *inProcess) Spawn(ctx context.Context, p compose.Program) (*compose.Process, error) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() {
		c.err = ServeInspections(context.WithoutCancel(ctx), all.Locks(), p.Args[len(p.Args)-1], inR, outW)
		inR.Close()
		outW.Close()
		close(c.ended)
	}()
	return &compose.Process{Stdin: inW, Stdout: outR, Done: c.ended, Err: func() error { <-c.ended; return c.err }}, nil
}

// answering is a Redis that says of every key that it is there, or nothing at all.
func answering(t *testing.T, reply string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			if _, err := bufio.NewReader(c).ReadString('\n'); err == nil {
				_, _ = io.WriteString(c, reply)
			}
		}
	}()
	return l.Addr().String()
}

func TestInspector(t *testing.T) {
	there, gone, mute := answering(t, ":1\r\n"), answering(t, ":0\r\n"), answering(t, "")
	ctx := t.Context()
	l, err := startInspector(ctx, &inProcess{ended: make(chan struct{})}, "redis")
	if err != nil {
		t.Fatal(err)
	}
	// A look that was given up holds nobody back, and its answer is nobody else's.
	given, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if _, err := l.inspect(given, clients.Options{Servers: []string{mute}}, "k0"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("given up: %v", err)
	}
	for range 3 {
		for server, want := range map[string]int{there: 1, gone: 0} {
			if n, err := l.inspect(ctx, clients.Options{Servers: []string{server}}, "k0"); n != want || err != nil {
				t.Errorf("look at %s: %d, %v; want %d", server, n, err, want)
			}
		}
	}
	if _, err := l.inspect(ctx, clients.Options{Servers: []string{"127.0.0.1:1"}}, "k0"); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("nobody is there: %v", err)
	}
	if err := l.stop(); err != nil {
		t.Error(err)
	}
	if _, err := l.inspect(ctx, clients.Options{Servers: []string{there}}, "k0"); err == nil {
		t.Error("it looks after its end")
	}
	if _, err := startInspector(ctx, &inProcess{ended: make(chan struct{})}, "redsync-nope"); err == nil || !strings.Contains(err.Error(), "unknown lock") {
		t.Errorf("an unknown lock: %v", err)
	}
}
