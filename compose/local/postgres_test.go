//go:build linux

package local

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/internal/testkit"
)

// needServers skips a test whose servers are not installed here.
func needServers(t *testing.T, name string) {
	t.Helper()
	def, err := compose.Load(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	family, _, _ := strings.Cut(name, "-")
	testkit.Need(t, family, check(def))
}

func connect(t *testing.T, c *Cluster, node string) *pgx.Conn {
	t.Helper()
	n, err := c.Find(node)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s port=%d user=postgres database=postgres sslmode=disable", n.Addr, n.Port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// Postgres makes a process for each session, in a group of its own each. A kill takes
// them all at once, without a word to anybody, and the next start finds what was
// committed, and no trace of the processes.
func TestKillTakesAllOfPostgres(t *testing.T) {
	needServers(t, "postgres")
	for kind, l := range sandboxes(t) {
		t.Run(kind, func(t *testing.T) {
			c := start(t, l, "postgres")
			conn := connect(t, c, "postgres")
			if _, err := conn.Exec(t.Context(), "CREATE TABLE t AS SELECT 1"); err != nil {
				t.Fatal(err)
			}
			n, _ := c.Find("postgres")
			tree, err := proc.Tree(n.PID)
			if err != nil || len(tree) < 5 {
				t.Fatalf("tree %v, %v", tree, err)
			}
			if err := c.Kill(t.Context(), "postgres"); err != nil {
				t.Fatal(err)
			}
			for _, r := range tree {
				if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.PID)); err == nil {
					t.Errorf("process %d is left: %s", r.PID, text)
				}
			}
			// The session's own end would have closed it.
			if err := conn.Ping(t.Context()); err == nil || strings.Contains(err.Error(), "57P0") {
				t.Errorf("the session after the kill: %v", err)
			}
			if shm, err := os.ReadFile("/proc/sysvipc/shm"); err == nil {
				for line := range strings.Lines(string(shm)) {
					if w := strings.Fields(line); len(w) > 4 && w[4] == fmt.Sprint(n.PID) {
						t.Errorf("shared memory is left: %s", line)
					}
				}
			}
			if err := c.Restart(t.Context(), "postgres", false); err != nil {
				t.Fatal(err)
			}
			if _, err := connect(t, c, "postgres").Exec(t.Context(), "SELECT * FROM t"); err != nil {
				t.Error(err)
			}
			if v := c.Versions(t.Context())["postgres"]; len(v) == 0 || v[0] < '1' || v[0] > '9' {
				t.Errorf("version %q", v)
			}
		})
	}
}

// A replica takes over; the old leader copies its data and follows it. Killed and
// started again it comes back as a replica, and then takes over itself.
func TestPromotePostgres(t *testing.T) {
	needServers(t, "postgres-replica")
	for kind, l := range sandboxes(t) {
		t.Run(kind, func(t *testing.T) {
			ctx := t.Context()
			c := start(t, l, "postgres-replica")
			leaders := func(want string) {
				t.Helper()
				deadline := time.Now().Add(30 * time.Second)
				for {
					got := ""
					for _, name := range []string{"pg1", "pg2"} {
						if yes, err := c.Leads(ctx, name); err != nil {
							got += " " + err.Error()
						} else if yes {
							got += " " + name
						}
					}
					if got == " "+want {
						return
					}
					if time.Now().After(deadline) {
						t.Fatalf("leaders:%s, want %s", got, want)
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
			leaders("pg1")
			if err := c.Promote(ctx, "pg2"); err != nil {
				t.Fatal(err)
			}
			leaders("pg2")
			if err := c.Kill(ctx, "pg1"); err != nil {
				t.Fatal(err)
			}
			if _, err := connect(t, c, "pg2").Exec(ctx, "CREATE TABLE t AS SELECT 1"); err != nil {
				t.Fatal(err)
			}
			if err := c.Restart(ctx, "pg1", false); err != nil {
				t.Fatal(err)
			}
			leaders("pg2")
			// It answers once it streams: what was committed meanwhile is on its way.
			for range 200 {
				if _, err := connect(t, c, "pg1").Exec(ctx, "SELECT * FROM t"); err == nil {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			if err := c.Promote(ctx, "pg1"); err != nil {
				t.Fatal(err)
			}
			leaders("pg1")
			if _, err := connect(t, c, "pg1").Exec(ctx, "SELECT * FROM t"); err != nil {
				t.Error(err)
			}
		})
	}
}
