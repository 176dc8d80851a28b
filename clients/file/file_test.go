package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/contract"
	"github.com/picklock/picklock/history"
)

// A test binary with this variable set holds a lock on key k and waits to be killed:
// its value is the lock and the directory.
const fileHolder = "PICKLOCK_TEST_FILEHOLDER"

func holdFile(v string) error {
	var name, dir string
	if _, err := fmt.Sscan(v, &name, &dir); err != nil {
		return err
	}
	info := named(name)
	l, err := info.Open(context.Background(), clients.Options{Directory: dir, Client: "child", TTL: time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if _, err := l.Acquire(context.Background(), "k"); err != nil {
		return err
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startHolder starts a process that holds the lock, and returns how to kill it.
func startHolder(t *testing.T, name, dir string) (kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s", fileHolder, name, dir))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	kill = func() {
		once.Do(func() {
			cmd.Process.Kill()
			cmd.Wait()
			in.Close()
		})
	}
	t.Cleanup(kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	return kill
}

func openIn(t *testing.T, name, client, dir string, ttl time.Duration, extra map[string]string) clients.Lock {
	t.Helper()
	info := named(name)
	l, err := info.Open(t.Context(), clients.Options{Directory: dir, Client: client, TTL: ttl, Extra: extra, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestFileContract: as long as nothing goes wrong each of them excludes, and a client
// that gave up waiting holds nothing.
func TestFileContract(t *testing.T) {
	for _, name := range []string{"file", "flock", "flock-unlink"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx := contract.Within(t, 60*time.Second)
			fighters := 4
			if name == "flock-unlink" {
				fighters = 1 // with more it does not exclude: see TestFlockUnlink
			}
			var inside, grants atomic.Int32
			var group sync.WaitGroup
			for n := range fighters {
				l := openIn(t, name, fmt.Sprint("c", n), dir, 20*time.Second, nil)
				group.Go(func() {
					for range 10 {
						before := history.Now()
						g, err := l.Acquire(ctx, "a/../b")
						if err != nil {
							t.Errorf("acquire: %v", err)
							return
						}
						if n := inside.Add(1); n != 1 {
							t.Errorf("%d holders at once", n)
						}
						if (g.Since == 0) != (g.Lease == 0) || g.Since != 0 && g.Since < before || g.Since > history.Now() || (g.Lease != 0) != (name == "file") {
							t.Errorf("grant %+v, asked at %d", g, before)
						}
						grants.Add(1)
						inside.Add(-1)
						if err := l.Release(ctx, g); err != nil {
							t.Errorf("release: %v", err)
						}
					}
				})
			}
			group.Wait()
			if want := int32(10 * fighters); grants.Load() != want {
				t.Errorf("%d grants, want %d", grants.Load(), want)
			}
			a, b := openIn(t, name, "a", dir, 20*time.Second, nil), openIn(t, name, "b", dir, 20*time.Second, nil)
			g, err := a.Acquire(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Acquire(contract.Within(t, 200*time.Millisecond), "k"); err == nil || errors.Is(err, clients.ErrUnknown) {
				t.Errorf("acquire of a held lock: %v; want a definite failure", err)
			}
			if err := a.Release(ctx, g); err != nil {
				t.Error(err)
			}
			if g, err = b.Acquire(ctx, "k"); err != nil {
				t.Fatalf("a free lock: %v", err)
			}
			if err := b.Release(ctx, g); err != nil {
				t.Error(err)
			}
			if found, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*.lock")); len(found) > 0 {
				t.Errorf("%v is outside the directory", found)
			}
		})
	}
}

// TestKilledHolder: the kernel frees a dead process's flock; a lock file stays until
// a client finds it too old, or for ever.
func TestKilledHolder(t *testing.T) {
	tests := []struct {
		lock   string
		extra  map[string]string
		freed  bool
		atOnce bool
	}{
		{"flock", nil, true, true},
		{"file", nil, true, false},
		{"file", map[string]string{"stale": "never"}, false, false},
	}
	for _, tc := range tests {
		t.Run(fmt.Sprint(tc.lock, tc.extra), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			kill := startHolder(t, tc.lock, dir)
			const ttl = 2 * time.Second
			l := openIn(t, tc.lock, "c1", dir, ttl, tc.extra)
			held := time.Now()
			if tc.atOnce { // nothing but its end frees it, however long it takes
				if _, err := l.Acquire(contract.Within(t, ttl+ttl/2), "k"); err == nil {
					t.Fatal("granted while another process held it")
				}
			}
			kill()
			died := time.Now()
			g, err := l.Acquire(contract.Within(t, 2*ttl), "k")
			switch {
			case (err == nil) != tc.freed:
				t.Fatalf("after the holder's death: %v; want granted: %v", err, tc.freed)
			case err != nil:
				return
			case tc.atOnce && time.Since(died) > ttl:
				t.Errorf("free only %v after its holder's death", time.Since(died))
			case !tc.atOnce && time.Since(held) < ttl/2:
				t.Errorf("counted as left behind after %v", time.Since(held))
			}
			if err := l.Release(t.Context(), g); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFileTakenOver: a holder whose lock was taken over learns it on its next step.
func TestFileTakenOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := openIn(t, "file", "a", dir, 10*time.Second, nil)
	b := openIn(t, "file", "b", dir, time.Second, nil)
	ctx := contract.Within(t, 30*time.Second)
	g, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	var r clients.Renewal
	for range 20 { // renewals keep it young
		if r, err = a.(clients.Renewer).Renew(ctx, g); err != nil || r.Since <= g.Since || r.Lease != g.Lease {
			t.Fatalf("renewed: %+v, %v", r, err)
		}
		if _, err := b.Acquire(contract.Within(t, 20*time.Millisecond), "k"); err == nil {
			t.Fatal("a lock file that was just renewed was taken for old")
		}
	}
	g2, err := b.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if early := r.Since + int64(time.Second) - history.Now(); early > 0 {
		t.Errorf("taken for old %v too early", time.Duration(early))
	}
	if _, err := a.(clients.Renewer).Renew(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("renew without holding: %v; want ErrNotHeld", err)
	}
	if err := a.Release(ctx, g); !errors.Is(err, clients.ErrNotHeld) {
		t.Errorf("release without holding: %v; want ErrNotHeld", err)
	}
	if _, err := a.Acquire(contract.Within(t, 50*time.Millisecond), "k"); err == nil {
		t.Error("that release freed the other's lock")
	}
	if err := b.Release(ctx, g2); err != nil {
		t.Error(err)
	}
}

// TestFlockUnlink: the recipe's flaw needs no fault. A waiting client has the
// old file open and is granted its lock when it is gone; the next client makes another file.
func TestFlockUnlink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx := contract.Within(t, 30*time.Second)
	waits := make(chan struct{}, 1000)
	a, c := openIn(t, "flock-unlink", "a", dir, time.Second, nil), openIn(t, "flock-unlink", "c", dir, time.Second, nil)
	info := named("flock-unlink")
	b, err := info.Open(ctx, clients.Options{Directory: dir, TTL: time.Second, Log: slog.New(slog.DiscardHandler), Waiting: func() {
		select {
		case waits <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	first, err := a.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() {
		_, err := b.Acquire(ctx, "k")
		second <- err
	}()
	<-waits
	if err := a.Release(ctx, first); err != nil {
		t.Fatal(err)
	}
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	if _, err := c.Acquire(ctx, "k"); err != nil {
		t.Errorf("%v: the third was expected to be granted the lock that the second holds", err)
	}
}
