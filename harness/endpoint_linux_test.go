//go:build linux

package harness_test

import (
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/results"
)

// startOutside runs a server that no run of picklock has started, until the test ends, and
// returns when it takes connections.
func startOutside(t *testing.T, addr string, cmd *exec.Cmd) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("%s does not answer at %s: %v\n%s", cmd.Path, addr, err, text)
		}
	}
}

// freeAddr is a loopback address at which nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	return "127.0.0.1:" + testkit.FreePort(t)
}

// redisOutside is a Redis with keys of others.
func redisOutside(t *testing.T) (addr string, dump func() map[string]string) {
	t.Helper()
	testkit.NeedProgram(t, "redis-server", "apt-get install redis-server")
	addr = freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	startOutside(t, addr, exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir()))
	db := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { db.Close() })
	if err := db.MSet(t.Context(), "k0", "not yours", "picklock-k0", "nor this", "other", "nor that").Err(); err != nil {
		t.Fatal(err)
	}
	return addr, func() map[string]string { return keysOf(t, db) }
}

// keysOf is all that a Redis holds.
func keysOf(t *testing.T, db *redis.Client) map[string]string {
	t.Helper()
	out := map[string]string{}
	keys, err := db.Keys(t.Context(), "*").Result()
	for _, key := range keys {
		if err == nil {
			out[key], err = db.Dump(t.Context(), key).Result()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	addr, dump := redisOutside(t)
	before := dump()
	for _, tt := range []struct {
		faults string
		valid  checker.Validity
		found  string
	}{
		{"pause:holder", checker.False, "stale-write"},
		{"partition:client,clock:client", checker.Unknown, ""},
	} {
		o := picklock(t, "--lock", "redis", "--endpoint", addr, "--faults", tt.faults, "--duration", "8s")
		if tt.found != "" {
			has := slices.ContainsFunc(o.verdict.Anomalies, func(a checker.Anomaly) bool { return a.Name == tt.found })
			if o.verdict.Valid != tt.valid || !has {
				t.Errorf("%s: %v with %d anomalies, exit %d\n%s", tt.faults, o.verdict.Valid, len(o.verdict.Anomalies), o.code, o.stderr)
			}
		}
		for kind, f := range o.verdict.Stats.Faults {
			if f.Confirmed == 0 {
				t.Errorf("%s never took effect", kind)
			}
		}
		if !strings.Contains(o.stderr, addr+" was not started by picklock") || !strings.Contains(o.stderr, "messages") {
			t.Errorf("it does not say what it will do:\n%s", o.stderr)
		}
		if after := dump(); !maps.Equal(before, after) {
			t.Errorf("%s: the server has %v, had %v", tt.faults, slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
		}
		l, err := results.Open(o.dir)
		if err != nil {
			t.Fatal(err)
		}
		if at := l.Run.Nodes[0]; at.External != addr || l.Run.Rate == 0 {
			t.Errorf("run.json has %+v, and %v sections a second", at, l.Run.Rate)
		}
		if again := strings.Join(l.Run.Command, " "); !strings.Contains(again, "--endpoint "+addr) {
			t.Errorf("again: %s", again)
		}
	}
}

func TestEndpointRefusals(t *testing.T) {
	t.Parallel()
	addr, dump := redisOutside(t)
	before := dump()
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--endpoint", addr, "--faults", "pause:leader"}, 254, "picklock has not started it"},
		{[]string{"--endpoint", addr, "--faults", "kill:server1"}, 254, "picklock has not started it"},
		{[]string{"--endpoint", addr, "--faults", "powerloss"}, 254, "picklock has not started it"},
		{[]string{"--endpoint", "10.255.255.1:6379"}, 254, "--i-own-this-service"},
		{[]string{"--endpoint", addr, "--cluster", "redis"}, 254, "either --endpoint or --cluster"},
		{[]string{"--endpoint", freeAddr(t)}, 255, "cannot be reached"},
	} {
		o := picklock(t, append([]string{"--lock", "redis", "--duration", "5s"}, tt.args...)...)
		if o.code != tt.code || !strings.Contains(o.stderr, tt.says) {
			t.Errorf("%v: exit %d, want %d and %q\n%s", tt.args, o.code, tt.code, tt.says, o.stderr)
		}
	}
	if after := dump(); !maps.Equal(before, after) {
		t.Errorf("the server has %v, had %v", after, before)
	}
}

// A run that is interrupted cleans up, one that is killed leaves nothing on this machine.
func TestEndpointEndsEarly(t *testing.T) {
	// Not beside others: what is on the machine before and after is compared.
	addr, dump := redisOutside(t)
	before := dump()
	here := surroundings(t)
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGKILL} {
		u := begin(t, nil, "--endpoint", addr, "--faults", "hold:client,partition:client")
		s := u.spaces(t)
		defer func() {
			for _, f := range s.net {
				f.Close()
			}
		}()
		if len(s.net) < 2 || u.find(t, " forward ") == 0 {
			t.Fatalf("the run has %d networks of its own", len(s.net))
		}
		for deadline := time.Now().Add(time.Minute); maps.Equal(dump(), before); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("no client ever held the lock")
			}
		}
		if err := u.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		code, said := u.end()
		u.gone(t)
		if left := s.left(u.dir); len(left) > 0 {
			t.Errorf("%v left %v", signal, left)
		}
		if now := surroundings(t); !slices.Equal(now, here) {
			t.Errorf("%v left the machine with %v, which had %v", signal, now, here)
		}
		if after := dump(); signal == os.Interrupt && !maps.Equal(before, after) {
			t.Errorf("exit %d, the server has %v, had %v\n%s", code, after, before, said)
		}
	}
}
