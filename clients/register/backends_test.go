package register_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/compose/builtin"
	"github.com/picklock/picklock/compose/local"
	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/internal/testkit"
)

// serveBuiltin makes this test's program the server that x-picklock.local asks of
// {self}.
func serveBuiltin() (code int, done bool) {
	if len(os.Args) < 3 || os.Args[1] != "server" {
		return 0, false
	}
	if err := builtin.Run(context.Background(), os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// real starts the server of a backend on loopback.
func real(t *testing.T, b register.Backend) compose.Node {
	t.Helper()
	def, err := compose.Load(t.Context(), b.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Need(t, b.Cluster, def.Servers()[0].Spec.Local.Missing())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "picklock-register-") // short enough, and open to Postgres's own user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := (&local.Sandbox{}).Start(t.Context(), def, compose.Options{Self: self, LogDir: filepath.Join(dir, "nodes"), DataDir: filepath.Join(dir, "data")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c.Nodes()[0]
}

func openAdmin(t *testing.T, b register.Backend, n compose.Node, m register.FencingMode, start int64, keys ...string) register.Admin {
	t.Helper()
	k, err := b.OpenAdmin(t.Context(), n.HostPort(), m, keys, start)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func open(t *testing.T, b register.Backend, addr string, m register.FencingMode) register.Resource {
	r := b.Open(addr, m)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func modeOf(t *testing.T, name string) register.FencingMode {
	t.Helper()
	d, err := register.ParseFencingMode(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// realBackends runs a test on each backend that is a server of its own.
func realBackends(t *testing.T, f func(t *testing.T, b register.Backend)) {
	for _, b := range all.Backends() {
		if b.OpenAdmin != nil {
			t.Run(b.Name, func(t *testing.T) { f(t, b) })
		}
	}
}

// stall keeps a server of this test from answering. Each session of Postgres is a
// process of its own, so there the key's row is held.
func stall(t *testing.T, b register.Backend, n compose.Node) (resume func()) {
	t.Helper()
	if b.Name != "postgres" {
		if err := syscall.Kill(n.PID, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		// The kernel gives the signal to one thread; the others run on until that one does.
		for {
			_, stopped, err := proc.AtRest(n.PID)
			if err != nil {
				t.Fatal(err)
			}
			if len(stopped) > 0 {
				break
			}
			if err := t.Context().Err(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		return sync.OnceFunc(func() {
			if err := syscall.Kill(n.PID, syscall.SIGCONT); err != nil {
				t.Error(err)
			}
		})
	}
	conn, err := pgconn.Connect(t.Context(), fmt.Sprintf("host=%s port=%d user=postgres database=postgres sslmode=disable", n.Addr, n.Port))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Exec(t.Context(), "BEGIN; SELECT * FROM resource FOR UPDATE").Close(); err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		if err := conn.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}
