package docker

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis"
)

// finish ends a program of picklock's by its standard input, and reads what it still writes.
func finish(t *testing.T, p *compose.Process, out io.Reader) {
	t.Helper()
	if err := p.Stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Errorf("read on: %v", err)
	}
	if err := p.Err(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestSpawn(t *testing.T) {
	e := needEngine(t)
	c, remote := start(t, e, &compose.Definition{Name: "none"})
	ctx := t.Context()
	spawn := func() (*compose.Process, *bufio.Reader) {
		p, err := c.Spawn(ctx, compose.Program{Name: "register", Role: compose.Register, Port: 7007, Args: []string{"register", "--listen", "{listen}"}})
		if err != nil {
			t.Fatal(err)
		}
		out := bufio.NewReader(p.Stdout)
		if l, err := out.ReadString('\n'); err != nil || l != "ready\n" {
			t.Fatalf("it said %q, %v; %v", l, err, p.Err())
		}
		return p, out
	}
	p, out := spawn()
	first := nodeOf(t, c, "register")
	agent, err := e.engine.inspect(ctx, c.agentID)
	if err != nil {
		t.Fatal(err)
	}
	for name, pid := range map[string]int{"register": first.PID, "agent": agent.PID} {
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil && !strings.Contains(string(status), "NoNewPrivs:\t1") {
			t.Errorf("the %s may get new privileges by a program that it starts", name)
		}
	}
	if got, err := remote.Do(ctx, nemesis.Op{Name: nemesis.OpReach, NetNS: first.NetNS, Addr: first.HostPort()}); err != nil || !got.Yes {
		t.Errorf("reach %v, %v", got, err)
	}
	if err := c.Kill(ctx, "register"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Errorf("read on: %v", err)
	}
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "exit code 137") {
		t.Errorf("it ended with %v", err)
	}
	p, out = spawn()
	if n := nodeOf(t, c, "register"); n.Addr != first.Addr || n.PID == first.PID {
		t.Errorf("came back as %+v, was %+v", n, first)
	}
	finish(t, p, out)
	_, err = c.Spawn(ctx, compose.Program{Name: "c1", Role: compose.Client, Args: []string{"no-such-command"}})
	if err != nil {
		t.Errorf("that it ended at once should be seen in its streams, not as %v", err)
	}
	select {
	case err := <-c.Died():
		if !strings.Contains(err.Error(), "c1 ended by itself: exit code 254") || !strings.Contains(err.Error(), "no-such-command") {
			t.Errorf("its end is reported as %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("that a program of picklock ended badly was not reported")
	}
}

// A program that comes back with other arguments gets those, at the same address: a run on servers of the run before
// has a register that fences as this run wants it.
func TestSpawnWithOtherArgs(t *testing.T) {
	e := needEngine(t)
	c, _ := start(t, e, &compose.Definition{Name: "none"})
	var addr string
	for _, fencing := range []string{"none", "read-write", "read-write", "write"} {
		p, err := c.Spawn(t.Context(), compose.Program{Name: "register", Role: compose.Register, Port: 7007, Args: []string{"register", "--listen", "{listen}", "--fencing", fencing}})
		if err != nil {
			t.Fatal(err)
		}
		out := bufio.NewReader(p.Stdout)
		if l, err := out.ReadString('\n'); err != nil || l != "ready\n" {
			t.Fatalf("it said %q, %v; %v", l, err, p.Err())
		}
		n := nodeOf(t, c, "register")
		if addr == "" {
			addr = n.Addr
		}
		of, err := e.engine.c.ContainerInspect(t.Context(), c.id("register"))
		if err != nil {
			t.Fatal(err)
		}
		if got := of.Args[len(of.Args)-1]; got != fencing || n.Addr != addr {
			t.Errorf("it runs with %q at %s, want %s at %s", of.Args, n.Addr, fencing, addr)
		}
		finish(t, p, out)
	}
}
