//go:build linux

package local

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
)

// TestRefuse: a server refuses writes with an error and answers all else, until it is told to take them, or is started
// again when it was down meanwhile. In a setting that is kept on a disk, too.
func TestRefuse(t *testing.T) {
	ctx := t.Context()
	for name, try := range map[string]struct {
		server        string
		write         func(t *testing.T, c *Cluster) string // what the server answers
		taken, refuse string
	}{
		"redis": {"redis", func(t *testing.T, c *Cluster) string {
			t.Helper()
			n, err := c.Find("redis")
			if err != nil {
				t.Fatal(err)
			}
			text, _, err := (&compose.Probe{Send: "SET a b\r\n", Expect: `^[+-]\w+`}).Answer(ctx, n.HostPort())
			if err != nil {
				t.Fatal(err)
			}
			return text
		}, "+OK", "-NOREPLICAS"},
		"etcd-single": {"etcd", func(t *testing.T, c *Cluster) string {
			t.Helper()
			n, err := c.Find("etcd")
			if err != nil {
				t.Fatal(err)
			}
			const put = `{"key":"YQ==","value":"Yg=="}`
			text, _, err := (&compose.Probe{Send: fmt.Sprintf("POST /v3/kv/put HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s", len(put), put), Expect: `space exceeded|revision`}).Answer(ctx, n.HostPort())
			if err != nil {
				t.Fatal(err)
			}
			return text
		}, "revision", "space exceeded"},
		"postgres": {"postgres", func(t *testing.T, c *Cluster) string {
			t.Helper()
			if _, err := connect(t, c, "postgres").Exec(ctx, "CREATE TABLE IF NOT EXISTS t AS SELECT 1"); err != nil {
				return err.Error()
			}
			return "done"
		}, "done", "read-only transaction"},
	} {
		t.Run(name, func(t *testing.T) {
			needServers(t, name)
			c := start(t, sandbox, name)
			refuses := func(when string, want bool) {
				t.Helper()
				begin := time.Now()
				yes, err := c.Refuses(ctx, try.server)
				if took := time.Since(begin); err != nil || yes != want || took > time.Second {
					t.Fatalf("%s: it says after %v that it refuses writes: %v, %v", when, took, yes, err)
				}
				expect := try.taken
				if want {
					expect = try.refuse
				}
				if got := try.write(t, c); !strings.Contains(got, expect) {
					t.Errorf("%s: a write is answered %q, want %q", when, got, expect)
				}
			}
			set := func(on bool) {
				t.Helper()
				if err := c.Refuse(ctx, try.server, on); err != nil {
					t.Fatal(err)
				}
			}
			refuses("at first", false)
			set(true)
			refuses("told to refuse them", true)
			set(false)
			refuses("told to take them", false)
			set(true)
			if err := c.Kill(ctx, try.server); err != nil {
				t.Fatal(err)
			}
			set(false)
			if err := c.Restart(ctx, try.server, false); err != nil {
				t.Fatal(err)
			}
			refuses("started again", false)
		})
	}
}
