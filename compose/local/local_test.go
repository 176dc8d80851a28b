//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/testkit"
)

var sandbox *Sandbox
var self string

// endsEnv has the inner process end with a code, or by a panic.
const endsEnv = "PICKLOCK_TEST_ENDS"

func TestMain(m *testing.M) {
	end := os.Getenv(endsEnv)
	if os.Getenv(sandboxEnv) == "" && end == "" {
		buildOtherVersions()
	}
	var code int
	var done bool
	if sandbox, code, done = Enter(); done {
		os.Exit(code)
	}
	switch end {
	case "":
	case "panic":
		panic("as a bug would")
	default:
		code, _ := strconv.Atoi(end) // 0 shows in the test
		os.Exit(ExitCode(code))
	}
	os.Exit(testkit.WithProgram(&self, m.Run))
}

func start(t *testing.T, l *Sandbox, name string) *Cluster {
	t.Helper()
	def, err := compose.Load(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	begin := time.Now()
	c, err := l.Start(t.Context(), def, compose.Options{Self: self, LogDir: filepath.Join(dir, "nodes"), DataDir: filepath.Join(dir, "data")})
	if impossible := compose.Impossible(""); errors.As(err, &impossible) {
		family, _, _ := strings.Cut(name, "-")
		testkit.Need(t, family, err) // a server that this machine has not got, and no package of its brings
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s answered after %v", name, time.Since(begin))
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func sandboxes(t *testing.T) map[string]*Sandbox {
	if !sandbox.Isolated {
		t.Logf("no namespaces here: %s", sandbox.Why)
		return map[string]*Sandbox{"loopback": sandbox}
	}
	return map[string]*Sandbox{"namespaces": sandbox, "loopback": {Why: "test"}}
}

func TestClustersAnswer(t *testing.T) {
	for kind, l := range sandboxes(t) {
		for _, name := range compose.Names() {
			t.Run(kind+"/"+name, func(t *testing.T) {
				if name == "redis-sentinel" && !l.Isolated {
					refused(t, l, name, "which on loopback is 127.0.0.1 for all; there are no namespaces here: test. Use --runtime docker")
					return
				}
				c := start(t, l, name)
				for _, n := range c.Nodes() {
					if n.PID == 0 || n.Addr == "" || (n.NetNS != "") != l.Isolated {
						t.Errorf("node %+v", n)
					}
				}
			})
		}
	}
}

// refused expects that the sandbox says why it cannot run a cluster, before it starts one.
func refused(t *testing.T, l *Sandbox, name, why string) {
	t.Helper()
	def, err := compose.Load(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	c, err := l.Start(t.Context(), def, compose.Options{Self: os.Args[0], LogDir: dir, DataDir: dir})
	if err == nil {
		t.Fatal("it was started", c.Close())
	}
	var impossible compose.Impossible
	if !errors.As(err, &impossible) || !strings.Contains(err.Error(), why) {
		t.Errorf("%v; want that it is impossible, and %q", err, why)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it made a run directory")
	}
}

func TestKillAndRestart(t *testing.T) {
	for kind, l := range sandboxes(t) {
		t.Run(kind, func(t *testing.T) {
			c := start(t, l, "etcd")
			ctx := t.Context()
			leader, err := c.Leader(ctx)
			if err != nil || leader == "" {
				t.Fatalf("leader %q, %v", leader, err)
			}
			n, _ := c.Find(leader)
			pid := n.PID
			if err := c.Kill(ctx, leader); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
				t.Error("the process is still there after Kill")
			}
			if ok, err := (*compose.Probe)(nil).Ask(ctx, n.HostPort()); ok || err == nil {
				t.Error("the port is open after Kill")
			}
			if err := c.Restart(ctx, leader, false); err != nil {
				t.Fatal(err)
			}
			if n, _ = c.Find(leader); n.PID == 0 || n.PID == pid {
				t.Errorf("pid %d after restart, %d before", n.PID, pid)
			}
			select {
			case err := <-c.Died():
				t.Errorf("a killed server counts as died: %v", err)
			default:
			}
		})
	}
}

func TestServerThatEndsByItselfIsReported(t *testing.T) {
	c := start(t, sandbox, "redis")
	n, _ := c.Find("redis")
	if err := killGroup(n.PID); err != nil { // not through the cluster
		t.Fatal(err)
	}
	select {
	case err := <-c.Died():
		if !strings.Contains(err.Error(), "redis ended by itself: signal: killed") {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it was not noticed")
	}
}

func TestSpawn(t *testing.T) {
	c := start(t, sandbox, "redis")
	p, err := c.Spawn(t.Context(), compose.Program{Name: "c1", Role: compose.Client, Args: []string{"server", "etcd", "--version"}})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, _ := p.Stdout.Read(buf)
	if !strings.HasPrefix(string(buf[:n]), "etcd Version") {
		t.Errorf("output %q", buf[:n])
	}
	if err := p.Err(); err != nil {
		t.Error(err)
	}
}

func TestStartErrors(t *testing.T) {
	tests := []struct{ name, spec, want string }{
		{"missing program", `ports: [1], local: {command: [x], needs: [{program: no-such-server, package: nothing}]}`, "no-such-server is not installed: apt-get install nothing"},
		{"docker only", `ports: [1]`, "--runtime docker only"},
		{"ends at once", `ports: [1], local: {command: [sh, -c, "echo no luck; exit 3"]}`, "no luck"},
		{"unknown value", `ports: [1], local: {command: [sh, "{nonsense}"]}`, "{nonsense}"},
		{"escaping file", `ports: [1], local: {command: [sh], files: {"../x": a}}`, "not below the data directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			f := filepath.Join(dir, "c.yml")
			text := "services: {a: {image: x, x-picklock: {role: server, " + tt.spec + "}}}"
			if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			def, err := compose.Load(context.Background(), f)
			if err != nil {
				t.Fatal(err)
			}
			_, err = sandbox.Start(t.Context(), def, compose.Options{Self: self, LogDir: dir, DataDir: filepath.Join(dir, "data")})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func answers(t *testing.T, c *Cluster, node, send, expect string) {
	t.Helper()
	n, err := c.Find(node)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if ok, err := (&compose.Probe{Send: send + "\r\n", Expect: expect}).Ask(ctx, n.HostPort()); err != nil || !ok {
		t.Errorf("%s: %s does not answer %q (%v)", node, send, expect, err)
	}
}

// logged is how much is in the logs of redis.
func logged(t *testing.T, c *Cluster) (sum int64) {
	t.Helper()
	sizes, err := reach{c}.Sizes(t.Context(), "redis", "appendonlydir/*.aof")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range sizes {
		sum += n
	}
	return sum
}

// Without picklock's own disk the log of a killed server is cut back to the mark: that is
// what it had not synced, by its own rule.
func TestPowerLoss(t *testing.T) {
	for name, want := range map[string]string{"redis-aof": `\$-1\r`, "redis-aof-always": `lost\r`} {
		t.Run(name, func(t *testing.T) {
			c := start(t, sandbox, name)
			ctx := t.Context()
			answers(t, c, "redis", "SET before kept", `\+OK`)
			if err := c.MarkSynced(ctx, "redis"); err != nil {
				t.Fatal(err)
			}
			before := logged(t, c)
			answers(t, c, "redis", "SET after lost", `\+OK`)
			for deadline := time.Now().Add(10 * time.Second); logged(t, c) == before; {
				// While it syncs, Redis puts off what it has answered already.
				if time.Now().After(deadline) {
					t.Fatal("it does not write its log")
				}
				time.Sleep(time.Millisecond)
			}
			if err := c.Kill(ctx, "redis"); err != nil {
				t.Fatal(err)
			}
			lost, err := c.LosePower(ctx, "redis")
			if err != nil || (lost > 0) != (name == "redis-aof") {
				t.Fatalf("lost %d bytes, %v", lost, err)
			}
			if err := c.Restart(ctx, "redis", false); err != nil {
				t.Fatal(err)
			}
			answers(t, c, "redis", "GET before", `kept\r`)
			answers(t, c, "redis", "GET after", want)
		})
	}
}

// A replica takes over, and the old master follows it, after a crash of either, too: by their
// command lines they would follow each other, or none.
func TestPromote(t *testing.T) {
	c := start(t, sandbox, "redis-replica")
	ctx := t.Context()
	if old, err := c.Leader(ctx); err != nil || old != "redis1" {
		t.Fatalf("leader %q, %v", old, err)
	}
	if err := c.Promote(ctx, "redis2"); err != nil {
		t.Fatal(err)
	}
	for _, crashed := range []string{"", "redis2", "redis1"} {
		if crashed != "" {
			if err := c.Kill(ctx, crashed); err != nil {
				t.Fatal(err)
			}
			if err := c.Restart(ctx, crashed, false); err != nil {
				t.Fatal(err)
			}
		}
		for node, want := range map[string]bool{"redis1": false, "redis2": true} {
			if leads, err := c.Leads(ctx, node); err != nil || leads != want {
				t.Errorf("crash of %q: %s leads: %v, %v", crashed, node, leads, err)
			}
		}
	}
	if v := c.Versions(ctx); len(v) != 1 || !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(v["redis"]) {
		t.Errorf("versions %v", v)
	}
}
