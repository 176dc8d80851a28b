package packetfault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/compose/local"
	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/nemesis/packetfault"
)

var sandbox *local.Sandbox

// holderEnv makes the test's program hold what goes to an address, and be killed.
const holderEnv = "PICKLOCK_TEST_HOLDER"

func TestMain(m *testing.M) {
	if what := os.Getenv(holderEnv); what != "" {
		netns, to, _ := strings.Cut(what, " ")
		_, err := packetfault.NewQueues().Do(context.Background(), netns, packetfault.Request{Op: packetfault.Hold, To: []string{to}})
		fmt.Println("held", err)
		select {}
	}
	var code int
	var done bool
	if sandbox, code, done = local.Enter(); !done {
		code = m.Run()
	}
	os.Exit(code)
}

// pair is two nodes, each in a network namespace of its own, and a connection from a to b.
type pair struct {
	a, b           compose.Node
	client, server net.Conn
	listener       net.Listener
	queues         *packetfault.Queues
}

func newPair(t *testing.T) *pair {
	t.Helper()
	if !sandbox.Isolated {
		testkit.Need(t, "namespaces", errors.New(sandbox.Why))
	}
	dir := t.TempDir()
	c, err := sandbox.Start(t.Context(), &compose.Definition{Name: "none"}, compose.Options{Self: "/bin/sleep", LogDir: dir, DataDir: filepath.Join(dir, "data")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	for _, name := range []string{"a", "b"} {
		if _, err := c.Spawn(t.Context(), compose.Program{Name: name, Role: compose.Client, Args: []string{"1000"}}); err != nil {
			t.Fatal(err)
		}
	}
	p := &pair{a: c.Nodes()[0], b: c.Nodes()[1], queues: packetfault.NewQueues()}
	t.Cleanup(func() {
		if err := p.queues.Close(); err != nil {
			t.Error(err)
		}
	})
	inside(t, p.b, func() {
		if p.listener, err = net.Listen("tcp4", p.b.Addr+":7000"); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { p.listener.Close() })
	p.client, p.server = p.connect(t)
	return p
}

func (p *pair) connect(t *testing.T) (client, server net.Conn) {
	t.Helper()
	inside(t, p.a, func() {
		var err error
		if client, err = net.Dial("tcp4", p.b.Addr+":7000"); err != nil {
			t.Error(err)
		}
	})
	server, err := p.listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func inside(t *testing.T, n compose.Node, f func()) {
	t.Helper()
	ns, err := os.Open(n.NetNS)
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	if err := proc.InNetNS(ns, f); err != nil {
		t.Fatal(err)
	}
}

// retransmitted counts the segments that a node has sent again.
func retransmitted(t *testing.T, n compose.Node) int {
	t.Helper()
	var text []byte
	inside(t, n, func() { text, _ = os.ReadFile("/proc/thread-self/net/snmp") })
	var names, values []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "Tcp:") {
			names, values = values, strings.Fields(line)
		}
	}
	for i, name := range names {
		if name == "RetransSegs" {
			var count int
			if _, err := fmt.Sscan(values[i], &count); err != nil {
				t.Fatal(err)
			}
			return count
		}
	}
	t.Fatalf("no RetransSegs in %q", text)
	return 0
}

// do does one thing to what a node sends to the other.
func (p *pair) do(t *testing.T, from compose.Node, o packetfault.Request) packetfault.Report {
	t.Helper()
	to := p.b
	if from.Name == p.b.Name {
		to = p.a
	}
	if o.To == nil {
		o.To = []string{to.Addr}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := p.queues.Do(ctx, from.NetNS, o)
	if err != nil {
		t.Fatalf("%s at %s: %v", o.Op, from.Name, err)
	}
	return r
}

// reading tells of every piece that a connection reads, with its time.
func reading(c net.Conn) <-chan piece {
	out := make(chan piece, 1000)
	go func() {
		defer close(out)
		b := make([]byte, 1<<16)
		for {
			n, err := c.Read(b)
			if err != nil {
				out <- piece{at: time.Now(), err: err}
				return
			}
			out <- piece{at: time.Now(), text: string(b[:n])}
		}
	}()
	return out
}

type piece struct {
	at   time.Time
	text string
	err  error
}

func next(t *testing.T, from <-chan piece) piece {
	t.Helper()
	select {
	case p := <-from:
		return p
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came within 10s")
		return piece{}
	}
}

func write(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// certain is how many messages of one connection come to the queue in any case. How many
// more the kernel lets out before one has left depends on how quick the link was so far.
const certain = 2
