package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/clients/internal/servers"
	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/internal/testkit"
)

// startPostgres runs one Postgres. It is the first process of namespaces of its own, as
// in a container, so that a kill takes all of its processes at once, and it has another
// user id than 0, which it refuses.
func startPostgres(t testing.TB) []*contract.Server {
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if path, err := exec.LookPath("postgres"); err == nil {
		bins = append(bins, filepath.Dir(path))
	}
	if len(bins) == 0 {
		testkit.Need(t, "postgres", errors.New("not installed: apt install postgresql"))
	}
	slices.Sort(bins)
	port, bin, dir := servers.FreePort(t), bins[len(bins)-1], t.TempDir()
	cmd := exec.Command("sh", "-ec", `
		"$1/initdb" -D "$2/data" -U postgres --auth=trust --no-sync --no-instructions --encoding=UTF8 --locale=C --wal-segsize=1
		exec "$1/postgres" -D "$2/data" -p "$3" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
			-c dynamic_shared_memory_type=mmap -c shared_buffers=16MB`, "sh", bin, dir, port)
	inNamespaces(cmd)
	return []*contract.Server{servers.StartSaying(t, port, cmd, "database system is ready to accept connections")}
}

// ask runs a statement on a connection of its own.
func ask(t testing.TB, s *contract.Server, sql string, args ...string) string {
	t.Helper()
	text, err := pgAsk(t.Context(), clients.Options{Servers: []string{s.Addr}}, sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// terminate ends the sessions that hold a lock, as an administrator would. The tests'
// connections go through a proxy, which answers TCP's probes in its clients' place: a
// client that is cut off there keeps its session.
func terminate(t testing.TB, servers []*contract.Server) {
	n := ask(t, servers[0], `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'
		AND pid IN (SELECT pid FROM pg_locks WHERE locktype IN ('advisory', 'transactionid') AND granted)`)
	if n == "0" {
		t.Error("no session held anything")
	}
}

// TestPostgresLostReply: what was sent and not answered may have been done. Only a
// statement in a transaction that was never committed certainly was not.
func TestPostgresLostReply(t *testing.T) {
	servers := startPostgres(t)
	for i, tc := range []struct {
		lock, acquire, release string
		extra                  map[string]string
		definite               bool // a lost answer to acquire's request
	}{
		{lock: "postgres-session", acquire: "pg_try_advisory_lock", release: "pg_advisory_unlock"},
		{lock: "postgres-session", acquire: "nextval", release: "pg_advisory_unlock"},
		{lock: "postgres-xact", acquire: "pg_try_advisory_xact_lock", release: "COMMIT"},
		{lock: "postgres-row", acquire: "FOR UPDATE", release: "COMMIT"},
		{lock: "postgres-table", acquire: "INSERT", release: "UPDATE"},
		{lock: "postgres-table", acquire: "INSERT", release: "UPDATE", extra: map[string]string{"transaction": "begun"}, definite: true},
		{lock: "postgres-table", acquire: "COMMIT", release: "UPDATE", extra: map[string]string{"transaction": "begun"}},
	} {
		t.Run(tc.lock+" "+tc.acquire, func(t *testing.T) {
			t.Parallel()
			link := contract.NewLink(t, servers[0].Addr)
			ctx := contract.Within(t, 60*time.Second)
			l := contract.OpenWith(t, named(tc.lock), "c1", []string{link.Addr}, time.Second, tc.extra)
			key := fmt.Sprint("k", i)
			g, err := l.Acquire(ctx, key) // so that it is connected, and all is there
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Release(ctx, g); err != nil {
				t.Fatal(err)
			}
			link.LoseReply(tc.acquire)
			_, err = l.Acquire(contract.Within(t, time.Second), key)
			if err == nil || errors.Is(err, clients.ErrUnknown) == tc.definite {
				t.Errorf("acquire: %v; definite should be %v", err, tc.definite)
			}
			if !link.Lost() {
				t.Fatal("no request passed")
			}
			g2, err := l.Acquire(ctx, key)
			if err != nil {
				t.Fatalf("acquire once the first is over: %v", err)
			}
			if named(tc.lock).Fencing && g2.Token <= g.Token {
				t.Errorf("token %d after %d", g2.Token, g.Token)
			}
			link.LoseReply(tc.release)
			if err := l.Release(contract.Within(t, time.Second), g2); !errors.Is(err, clients.ErrUnknown) {
				t.Errorf("release: %v; want ErrUnknown", err)
			}
		})
	}
}

// TestPostgresNotHeld: a release is confirmed only by a server that still had the lock.
func TestPostgresNotHeld(t *testing.T) {
	servers := startPostgres(t)
	for lock, steal := range map[string]string{
		"postgres-session": "SELECT pg_advisory_unlock_all()",
		"postgres-xact":    "SELECT 1/0", // the transaction has failed, and no statement has ended it
		"postgres-row":     "SELECT 1/0",
		"postgres-table":   "UPDATE picklock_lease SET owner = 'another'",
	} {
		t.Run(lock, func(t *testing.T) {
			ctx := contract.Within(t, 30*time.Second)
			l := contract.Open(t, named(lock), "c1", contract.Addrs(servers), 10*time.Second)
			g, err := l.Acquire(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			if s, ok := g.Ref.(*pgSession); ok {
				_, _, _ = s.query(ctx, steal)
			} else {
				ask(t, servers[0], steal)
			}
			if r, ok := l.(clients.Renewer); ok {
				if _, err := r.Renew(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
					t.Errorf("renew: %v; want ErrNotHeld", err)
				}
			}
			if err := l.Release(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
				t.Errorf("release: %v; want ErrNotHeld", err)
			}
		})
	}
}

// TestPostgresSessionEnds: an idle client learns that the server ended its session, and does not
// use an idle session that has ended.
func TestPostgresSessionEnds(t *testing.T) {
	servers := startPostgres(t)
	for _, lock := range []string{"postgres-session", "postgres-xact", "postgres-row"} {
		t.Run(lock, func(t *testing.T) {
			ctx := contract.Within(t, 30*time.Second)
			l := contract.Open(t, named(lock), "c1", contract.Addrs(servers), time.Second)
			g, err := l.Acquire(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			terminate(t, servers)
			select {
			case <-g.Lost:
			case <-ctx.Done():
				t.Fatal("the session was terminated and Lost never closed")
			}
			if g, err = l.Acquire(ctx, "k"); err != nil {
				t.Fatal(err)
			}
			if err := l.Release(ctx, g); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPostgresWaiter: a wait that is given up is cancelled at the server, and one that
// goes on is in line there.
func TestPostgresWaiter(t *testing.T) {
	servers := startPostgres(t)
	for _, lock := range []string{"postgres-session", "postgres-xact"} {
		t.Run(lock, func(t *testing.T) {
			ctx := contract.Within(t, 30*time.Second)
			info := named(lock)
			a, b := contract.Open(t, named(lock), "a", contract.Addrs(servers), time.Second), contract.Open(t, named(lock), "b", contract.Addrs(servers), time.Second)
			g, err := a.Acquire(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			queued := func(want int) {
				t.Helper()
				for {
					n, err := info.Inspect(ctx, clients.Options{Servers: contract.Addrs(servers)[:1]}, "k")
					if err != nil {
						t.Fatal(err)
					}
					if n == want {
						return
					}
				}
			}
			short, cancel := context.WithCancel(ctx)
			done := make(chan error, 1)
			go func() {
				_, err := b.Acquire(short, "k")
				done <- err
			}()
			queued(2)
			cancel()
			if err := <-done; err == nil || errors.Is(err, clients.ErrUnknown) {
				t.Errorf("a wait that was given up: %v; want a definite failure", err)
			}
			queued(1)
			if err := a.Release(ctx, g); err != nil {
				t.Error(err)
			}
			queued(0)
		})
	}
}

// TestPostgresCancelledWinner: a session that was granted the lock and cancelled before it could
// return answers that it was cancelled. It must not go back into use with the lock.
func TestPostgresCancelledWinner(t *testing.T) {
	servers := startPostgres(t)
	ctx := contract.Within(t, 60*time.Second)
	info := named("postgres-session")
	open := func(name string) clients.Lock {
		return contract.Open(t, info, name, contract.Addrs(servers), 5*time.Second)
	}
	a, b, c := open("a"), open("b"), open("c")
	for n := range 5 {
		key := fmt.Sprintf("k%d", n)
		g, err := a.Acquire(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			_, err := b.Acquire(short, key)
			done <- err
		}()
		pid := waitingBackend(ctx, t)
		signal(t, pid, syscall.SIGSTOP)
		if err := a.Release(ctx, g); err != nil {
			t.Fatal(err)
		}
		cancel()
		for !pending(t, pid, syscall.SIGINT) { // the server has sent what the cancelling asks for
			if ctx.Err() != nil {
				t.Fatal("no cancel reached the server")
			}
		}
		signal(t, pid, syscall.SIGCONT)
		if err := <-done; err == nil {
			t.Fatal("a wait that was cancelled was granted")
		}
		if g, err = c.Acquire(ctx, key); err != nil {
			t.Fatalf("no client holds %s: %v", key, err)
		}
		if err := c.Release(ctx, g); err != nil {
			t.Fatal(err)
		}
	}
}

// waitingBackend is the process of the one session that waits for a lock.
func waitingBackend(ctx context.Context, t *testing.T) int {
	t.Helper()
	for ctx.Err() == nil {
		all, err := proc.Tree(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID)); err == nil && strings.Contains(string(title), "SELECT waiting") {
				return p.PID
			}
		}
	}
	t.Fatal("no session waits")
	return 0
}

func signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// pending says whether a signal waits for a process that does not run.
func pending(t *testing.T, pid int, s syscall.Signal) bool {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	var set uint64
	for line := range strings.SplitSeq(string(text), "\n") {
		if mask, ok := strings.CutPrefix(line, "ShdPnd:\t"); ok {
			if set, err = strconv.ParseUint(mask, 16, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	return set&(1<<(uint(s)-1)) != 0
}

// TestPostgresOptions: the lock's settings reach the server, and this machine's own settings for
// Postgres do not.
func TestPostgresOptions(t *testing.T) {
	servers := startPostgres(t)
	for name, value := range map[string]string{
		"PGHOST": "192.0.2.1", "PGUSER": "nobody", "PGSSLMODE": "require", "PGOPTIONS": "-c nonsense=1", "PGTARGETSESSIONATTRS": "standby",
	} {
		t.Setenv(name, value)
	}
	ctx := contract.Within(t, 30*time.Second)
	for keepalive, ttl := range map[string]bool{"": true, "ttl": true, "system": false} {
		extra := map[string]string{}
		if keepalive != "" {
			extra["keepalive"] = keepalive
		}
		g, err := contract.OpenWith(t, named("postgres-session"), "c1", contract.Addrs(servers), 4*time.Second, extra).Acquire(ctx, "keepalive "+keepalive)
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.Ref.(*pgSession).value(ctx, "SELECT current_setting('tcp_keepalives_idle') || ' ' || current_setting('tcp_user_timeout')")
		if err != nil || (got == "2 2000") != ttl {
			t.Errorf("keepalive %q: the session has %q, %v", keepalive, got, err)
		}
	}
	for lock, extra := range map[string]map[string]string{
		"postgres-session": {"keepalive": "never"}, "postgres-table": {"clock": "sundial"}, "postgres-row": {"transaction": "begun"},
	} {
		info := named(lock)
		if err := info.CheckOptions(extra); err == nil {
			t.Errorf("%s takes %v", lock, extra)
		}
	}
}
