package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/nemesis/clock"
)

func nodeOf(t *testing.T, c *Cluster, name string) compose.Node {
	t.Helper()
	for _, n := range c.Nodes() {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("no node %s", name)
	return compose.Node{}
}

// do carries out an operation of which only the error matters.
func do(t *testing.T, agent *nemesis.Remote, op nemesis.Op) error {
	t.Helper()
	_, err := agent.Do(t.Context(), op)
	return err
}

// say has redis answer a command, seen from inside its own network.
func say(t *testing.T, c *Cluster, remote *nemesis.Remote, send, expect string) bool {
	t.Helper()
	n := nodeOf(t, c, "redis")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, ok, err := remote.Ask(ctx, n.NetNS, n.HostPort(), &compose.Probe{Send: send + "\r\n", Expect: expect})
	if err != nil {
		t.Logf("%s: %v", send, err)
	}
	return ok
}

func TestClusterLife(t *testing.T) {
	e := needEngine(t)
	c, remote := start(t, e, load(t, "redis"))
	ctx := t.Context()
	before := nodeOf(t, c, "redis")
	if before.PID == 0 || before.NetNS == "" || before.Addr == "" || before.Port != 6379 {
		t.Fatalf("node %+v", before)
	}
	if !say(t, c, remote, "SET k v", `\+OK`) || !say(t, c, remote, "SAVE", `\+OK`) {
		t.Fatal("redis does not keep what it was sent")
	}
	var started []string
	c.AroundStart(func(_ context.Context, node string, start func() error) error {
		if n := nodeOf(t, c, node); n.PID != 0 {
			t.Errorf("called for the start of %+v, which runs already", n)
		}
		err := start()
		if n := nodeOf(t, c, node); n.PID == 0 || n.PID == before.PID {
			t.Errorf("started is %+v", n)
		}
		started = append(started, node)
		return err
	})
	for _, fresh := range []bool{false, true} {
		if err := c.Kill(ctx, "redis"); err != nil {
			t.Fatal(err)
		}
		if n := nodeOf(t, c, "redis"); n.PID != 0 || n.NetNS != "" {
			t.Errorf("killed, but %+v", n)
		}
		if err := c.Restart(ctx, "redis", fresh); err != nil {
			t.Fatal(err)
		}
		if n := nodeOf(t, c, "redis"); n.Addr != before.Addr || n.PID == 0 {
			t.Errorf("came back as %+v, was %+v", n, before)
		}
		want := `\$1\r\nv`
		if fresh {
			want = `\$-1`
		}
		if !say(t, c, remote, "GET k", want) {
			t.Errorf("fresh %v: GET does not answer %q", fresh, want)
		}
	}
	if !slices.Equal(started, []string{"redis", "redis"}) {
		t.Errorf("called for the starts of %v", started)
	}
	select {
	case err := <-c.Died():
		t.Errorf("a killed server counts as dead: %v", err)
	default:
	}
	// The engine passes on what a container writes when it comes to that.
	const ready = "Ready to accept connections"
	var text []byte
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until) && strings.Count(string(text), ready) < 3; time.Sleep(20 * time.Millisecond) {
		var err error
		if text, err = os.ReadFile(c.log("redis")); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Count(string(text), ready) != 3 {
		t.Errorf("the log has not the lines of all three starts:\n%s", text)
	}
	if err := remote.Kill(ctx, nodeOf(t, c, "redis").PID); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-c.Died():
		if !strings.Contains(err.Error(), "redis ended by itself") || !strings.Contains(err.Error(), "Ready to accept") {
			t.Errorf("its death is reported as %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("a death was not noticed")
	}
}

// The agent has the rights to stop any process of the machine; it must not use them.
func TestAgentRefusesForeigners(t *testing.T) {
	e := needEngine(t)
	c, remote := start(t, e, load(t, "redis"))
	ctx := t.Context()
	redis, own := c.node("redis"), nodeOf(t, c, "redis").PID
	other, _ := start(t, e, load(t, "redis")) // another run's
	foreign := nodeOf(t, other, "redis").PID
	self := os.Getpid()
	for name, err := range map[string]error{
		"signal this process":         do(t, remote, nemesis.Op{Name: nemesis.OpSignal, PID: self, Signal: syscall.SIGSTOP}),
		"signal the first process":    do(t, remote, nemesis.Op{Name: nemesis.OpSignal, PID: 1, Signal: syscall.SIGSTOP}),
		"signal a group":              do(t, remote, nemesis.Op{Name: nemesis.OpSignal, PID: -1, Signal: syscall.SIGSTOP}),
		"signal another run's":        do(t, remote, nemesis.Op{Name: nemesis.OpSignal, PID: foreign, Signal: syscall.SIGSTOP}),
		"allow this process":          remote.Allow(ctx, redis.id, self),
		"allow another run's process": remote.Allow(ctx, redis.id, foreign),
		"shift this process":          do(t, remote, nemesis.Op{Name: nemesis.OpSetClock, PID: self, Clock: clock.Setting{Offset: time.Hour}}),
		"cut the host off":            do(t, remote, nemesis.Op{Name: nemesis.OpDrop, NetNS: "/proc/1/ns/net", From: []string{"10.0.0.1"}}),
		"cut this process off":        do(t, remote, nemesis.Op{Name: nemesis.OpDrop, NetNS: "/proc/self/ns/net", From: []string{"10.0.0.1"}}),
		"cut a path":                  do(t, remote, nemesis.Op{Name: nemesis.OpDrop, NetNS: "/proc/" + "1/../self/ns/net", From: []string{"10.0.0.1"}}),
		"cut the host off beside":     do(t, remote, nemesis.Op{Name: nemesis.OpDrop, PID: own, NetNS: "/proc/1/ns/net", From: []string{"10.0.0.1"}}),
		"look at this one's sockets":  do(t, remote, nemesis.Op{Name: nemesis.OpSockets, PID: self}),
		"look whether this one rests": do(t, remote, nemesis.Op{Name: nemesis.OpRest, PIDs: []int{self}}),
		"cut another run off":         do(t, remote, nemesis.Op{Name: nemesis.OpDrop, NetNS: nodeOf(t, other, "redis").NetNS, From: []string{"10.0.0.1"}}),
	} {
		if !errors.Is(err, nemesis.ErrRefused) {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
	}
	for _, id := range []string{"", "/", "docker", redis.id[:12], strings.Repeat("0", 64)} {
		if err := remote.Allow(ctx, id, own); err == nil {
			t.Errorf("allowed container %q, which process %d is not of", id, own)
		}
	}
	// None of it was held against its own.
	if stopped, err := remote.Do(ctx, nemesis.Op{Name: nemesis.OpStopped, PID: own}); err != nil || stopped.Yes {
		t.Errorf("stopped %v, %v", stopped, err)
	}
}

// A server may have been given the host's own network: a filter there would cut the
// machine off.
func TestAgentRefusesSharedNetworks(t *testing.T) {
	e := needEngine(t)
	c, remote := start(t, e, &compose.Definition{Name: "none"})
	ctx := t.Context()
	id, err := e.engine.create(ctx, spec{Name: project(c.run) + "-host", Image: c.image, Args: []string{"register"}, Labels: c.labels(), Network: "host"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.engine.attach(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := e.engine.start(ctx, id); err != nil {
		t.Fatal(err)
	}
	i, err := e.engine.inspect(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Allow(ctx, id, i.PID); err != nil {
		t.Fatal(err)
	}
	if err := do(t, remote, nemesis.Op{Name: nemesis.OpDrop, NetNS: fmt.Sprintf("/proc/%d/ns/net", i.PID), From: []string{"203.0.113.1"}}); !errors.Is(err, nemesis.ErrRefused) {
		t.Errorf("error %v, want a refusal", err)
	}
	if err := do(t, remote, nemesis.Op{Name: nemesis.OpSignal, PID: i.PID, Signal: syscall.SIGCONT}); err != nil {
		t.Errorf("it is a process of this run all the same: %v", err)
	}
}

// The agent's parent may die; then the agent heals everything by itself.
func TestAgentHealsAtItsEnd(t *testing.T) {
	e := needEngine(t)
	c, remote := start(t, e, load(t, "redis"))
	ctx := t.Context()
	n := nodeOf(t, c, "redis")
	if err := do(t, remote, nemesis.Op{Name: nemesis.OpTryClock}); err != nil {
		t.Fatal(err)
	}
	if err := do(t, remote, nemesis.Op{Name: nemesis.OpSetClock, PID: n.PID, Clock: clock.Setting{Offset: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	ahead := func(c *Cluster, remote *nemesis.Remote) time.Duration {
		d, err := remote.Do(ctx, nemesis.Op{Name: nemesis.OpReadClock, PID: nodeOf(t, c, "redis").PID})
		if err != nil {
			t.Fatal(err)
		}
		return d.Clock.Offset
	}
	if d := ahead(c, remote); d != time.Hour {
		t.Errorf("the clock is %v ahead", d)
	}
	if err := do(t, remote, nemesis.Op{Name: nemesis.OpDrop, NetNS: n.NetNS, From: []string{n.Addr}}); err != nil {
		t.Fatal(err)
	}
	if err := do(t, remote, nemesis.Op{Name: nemesis.OpSignal, PID: n.PID, Signal: syscall.SIGSTOP}); err != nil {
		t.Fatal(err)
	}
	if stopped, err := remote.Do(ctx, nemesis.Op{Name: nemesis.OpStopped, PID: n.PID}); err != nil || !stopped.Yes {
		t.Errorf("stopped %v, %v", stopped, err)
	}
	if near := remote.Now() - history.Now(); e.access.host == defaultHost && (near < -int64(time.Second) || near > int64(time.Second)) {
		t.Errorf("the agent's clock is %v off", time.Duration(near))
	}
	c.Closing() // the agent's end is no accident here
	if err := remote.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Do(ctx, nemesis.Op{Name: nemesis.OpStopped, PID: n.PID}); err == nil || !strings.Contains(err.Error(), "the agent is gone") {
		t.Errorf("asked after its end: %v", err)
	}
	// A second agent on the same run looks what the first one left.
	second, err := second(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if stopped, err := second.Do(ctx, nemesis.Op{Name: nemesis.OpStopped, PID: n.PID}); err != nil || stopped.Yes {
		t.Errorf("stopped %v, %v", stopped, err)
	}
	if d := ahead(c, second); d != 0 {
		t.Errorf("the clock is %v ahead", d)
	}
	if d, err := second.Do(ctx, nemesis.Op{Name: nemesis.OpDropped, NetNS: n.NetNS}); err != nil || len(d.Dropped) > 0 {
		t.Errorf("drops %v, %v", d, err)
	}
}

func second(t *testing.T, c *Cluster) (*nemesis.Remote, error) {
	t.Helper()
	ctx := t.Context()
	id, err := c.engine.create(ctx, spec{
		Name: project(c.run) + "-agent2", Image: c.image, Args: []string{"agent", "--run", c.run}, Labels: c.labels(),
		Network: "none", Caps: agentCaps, AppArmor: c.about.AppArmor,
	})
	if err != nil {
		return nil, err
	}
	proc, _, err := c.launch(ctx, id, "agent2")
	if err != nil {
		return nil, err
	}
	r := nemesis.NewRemote(proc.Stdin, proc.Stdout, proc.Err)
	t.Cleanup(func() { _ = r.Close(context.WithoutCancel(ctx)) })
	return r, r.Allow(ctx, c.id("redis"), nodeOf(t, c, "redis").PID)
}

func TestStartFailures(t *testing.T) {
	e := needEngine(t)
	image := os.Getenv("PICKLOCK_REDIS_IMAGE")
	if image == "" {
		image = "redis:8"
	}
	spec := ", x-picklock: {role: server, ports: [6379], ready: {send: \"PING\\r\\n\", expect: PONG}}"
	for _, tt := range []struct{ name, text, want string }{
		{"missing image", "services: {a: {image: 'picklock.invalid/none:1'" + spec + "}}", "image picklock.invalid/none:1 is not on the engine and cannot be pulled"},
		{"dies at once", "services: {a: {image: '" + image + "', command: [redis-server, --no-such-option]" + spec + "}}", "no-such-option"},
		{"no such program", "services: {a: {image: '" + image + "', entrypoint: [/no/such/program]" + spec + "}}", "/no/such/program"},
		{"compose refuses", "services: {a: {image: x, env_file: /no/such/file" + spec + "}}", "/no/such/file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := leavings(t, e)
			c, _, err := tryStart(t, e, load(t, tt.text))
			if err == nil {
				c.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if after := since(before, leavings(t, e)); len(after) > 0 {
				t.Errorf("left behind: %v, was %v", after, before)
			}
		})
	}
}
