package docker

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis"
)

// tell has a server of Redis answer a command as expected.
func tell(t *testing.T, c *Cluster, remote *nemesis.Remote, node, send, expect string) {
	t.Helper()
	n := nodeOf(t, c, node)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, ok, err := remote.Ask(ctx, n.NetNS, n.HostPort(), &compose.Probe{Send: send + "\r\n", Expect: expect}); err != nil || !ok {
		t.Errorf("%s: %s does not answer %q (%v)", node, send, expect, err)
	}
}

// A machine without power loses what was not synced, a killed process nothing.
func TestPowerLoss(t *testing.T) {
	e := needEngine(t)
	for name, want := range map[string]string{"redis-aof": `\$-1\r`, "redis-aof-always": `lost\r`} {
		t.Run(name, func(t *testing.T) {
			c, remote := start(t, e, load(t, name))
			ctx := t.Context()
			tell(t, c, remote, "redis", "SET before kept", `\+OK`)
			if _, err := c.LosePower(ctx, "redis"); err == nil || !strings.Contains(err.Error(), "still runs") {
				t.Errorf("lost the power of a server that runs: %v", err)
			}
			if err := c.MarkSynced(ctx, "redis"); err != nil {
				t.Fatal(err)
			}
			tell(t, c, remote, "redis", "SET after lost", `\+OK`)
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
			tell(t, c, remote, "redis", "GET before", `kept\r`)
			tell(t, c, remote, "redis", "GET after", want)
			// The log is the server's own as before: it is written to.
			tell(t, c, remote, "redis", "SET again there", `\+OK`)
			if err := c.Kill(ctx, "redis"); err != nil {
				t.Fatal(err)
			}
			if err := c.Restart(ctx, "redis", false); err != nil {
				t.Fatal(err)
			}
			tell(t, c, remote, "redis", "GET again", `there\r`)
		})
	}
}

// What is in a folder of the engine's machine belongs to its user.
func TestPowerLossSparesTheEnginesFolders(t *testing.T) {
	e := needEngine(t)
	data := t.TempDir()
	if err := os.Chmod(data, 0o777); err != nil {
		t.Fatal(err)
	}
	image := os.Getenv("PICKLOCK_REDIS_IMAGE")
	if image == "" {
		image = "redis:8"
	}
	c, _ := start(t, e, load(t, `
services:
  redis:
    image: `+image+`
    command: [redis-server, --save, "", --appendonly, "yes", --dir, /mine/logs]
    volumes: ["`+data+`:/mine/logs"]
    x-picklock: {role: server, ports: [6379], ready: {send: "PING\r\n", expect: PONG}, log: {files: "appendonlydir/*.aof", dir: /mine/logs, unsynced: 1s}}
`))
	if err := c.MarkSynced(t.Context(), "redis"); err == nil || !strings.Contains(err.Error(), "must not be changed") {
		t.Errorf("marked a log on the engine's machine: %v", err)
	}
}

func TestFixed(t *testing.T) {
	for pattern, want := range map[string]string{"a/b/*.aof": "a/b", "a/*/c": "a", "*": ".", "a": ".", "a?/b": ".", "a/[bc]/d/e": "a"} {
		if got := fixed(pattern); got != want {
			t.Errorf("fixed(%q) = %q, want %q", pattern, got, want)
		}
	}
}
