package local

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
)

// Redis that syncs once a second answers while a sync is under way and writes later.
// Who waits for what it has answered waits for that.
func TestAwaitWritten(t *testing.T) {
	c := startWithDisks(t, "redis-aof", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, addrs := servers(c)
	s, err := openRedis(ctx, addrs)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := c.SetDisk(ctx, "redis", compose.DiskStall, 0); err != nil {
		t.Fatal(err)
	}
	key := "k"
	for written(t, c, key) {
		key += "k"
		if err := s.put(ctx, key, 1); err != nil {
			t.Fatal(err)
		}
	}
	soon, stop := context.WithTimeout(ctx, 200*time.Millisecond)
	defer stop()
	if err := c.AwaitWritten(soon, "redis"); err == nil {
		t.Errorf("%s was answered and is not written, and nothing waited for it", key)
	}
	if err := c.SetDisk(ctx, "redis", compose.DiskWell, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitWritten(ctx, "redis"); err != nil || !written(t, c, key) {
		t.Errorf("%s is written: %v; %v", key, written(t, c, key), err)
	}
}

// written says whether Redis's log names a key; the first one, which no test has put, it
// does.
func written(t *testing.T, c *Cluster, key string) bool {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(c.node("redis").dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v, %v", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	return key == "k" || bytes.Contains(text, []byte("\r\n"+key+"\r\n"))
}
