package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/testkit"
)

func startWithDisks(t testing.TB, name string, change func(*compose.Local)) *Cluster {
	t.Helper()
	return startKept(t, name, change, true)
}

func startKept(t testing.TB, name string, change func(*compose.Local), disks bool) *Cluster {
	t.Helper()
	if !sandbox.Isolated {
		testkit.Need(t, "fuse", errors.New("no namespaces here: "+sandbox.Why))
	}
	if disks {
		f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
		if err != nil {
			testkit.Need(t, "fuse", err)
		}
		f.Close()
	}
	def, err := compose.Load(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		for _, s := range def.Members() {
			change(s.Spec.Local)
		}
	}
	dir := t.TempDir()
	c, err := sandbox.Start(t.Context(), def, compose.Options{Self: self, LogDir: filepath.Join(dir, "nodes"), DataDir: filepath.Join(dir, "data"), Disks: disks})
	if impossible := compose.Impossible(""); errors.As(err, &impossible) {
		family, _, _ := strings.Cut(name, "-")
		testkit.Need(t, family, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// losses is how often the power is cut: make soak ARGS=disk cuts it more often.
func losses() int {
	if n, err := strconv.Atoi(os.Getenv("PICKLOCK_SOAK")); err == nil {
		return n
	}
	return 2 // one that tears a write, and one that does not
}

// TestDiskSoak cuts the power of all servers of a cluster at once, again and again, in
// the middle of writes. With its safe setting no server has forgotten what it has
// acknowledged; with its unsafe one, that is found.
func TestDiskSoak(t *testing.T) {
	for _, k := range kept {
		name := k.cluster
		if k.unsafe != nil {
			name += " unsafe"
		}
		t.Run(name, func(t *testing.T) {
			c := startWithDisks(t, k.cluster, k.unsafe)
			forgot, total := 0, compose.PowerLost{}
			for i := range losses() {
				f, lost, err := lose(t, c, k.open, i%2 == 1)
				forgot += f
				total.Bytes += lost.Bytes
				total.Torn += lost.Torn
				if err != nil && k.unsafe != nil && i > 0 {
					t.Logf("loss %d left it broken: %v", i, err) // it has forgotten too much even to work
					break
				}
				if err != nil {
					t.Fatalf("loss %d: %v", i, err)
				}
			}
			t.Logf("losses took %d bytes and left %d bytes of torn writes; %d acknowledged writes were forgotten", total.Bytes, total.Torn, forgot)
			if (forgot > 0) != (k.unsafe != nil) {
				t.Errorf("%d acknowledged writes were forgotten", forgot)
			}
		})
	}
}

type opener func(ctx context.Context, servers []string) (store, error)

// lose cuts the power once after some writes, and counts the acknowledged ones that are
// not there afterwards. An error says what does not work any more.
func lose(t *testing.T, c *Cluster, open opener, tear bool) (forgot int, lost compose.PowerLost, err error) {
	w, err := startWriters(t.Context(), c, open)
	if err != nil {
		return 0, lost, err
	}
	lost = cutAll(t, c, tear)
	acked := w.stop()
	if err := restartAll(t, c); err != nil {
		return 0, lost, err
	}
	for key, n := range acked {
		got, err := read(t.Context(), c, open, key)
		if err != nil {
			return forgot, lost, err
		}
		if got < n {
			forgot++
		}
	}
	return forgot, lost, nil
}

func servers(c *Cluster) (names, addrs []string) {
	for _, n := range c.Nodes() {
		if n.Role == compose.Server {
			names, addrs = append(names, n.Name), append(addrs, n.HostPort())
		}
	}
	return names, addrs
}

// writers count up, each its own key, until they are stopped.
type writers struct {
	cancel context.CancelFunc
	group  errgroup.Group

	mu    sync.Mutex
	acked map[string]int // the last number that each had acknowledged
}

// startWriters returns when the writers were acknowledged a few writes.
func startWriters(ctx context.Context, c *Cluster, open opener) (*writers, error) {
	_, addrs := servers(c)
	const each, enough = 4, 30
	w := &writers{acked: map[string]int{}}
	ctx, w.cancel = context.WithTimeout(ctx, 60*time.Second)
	begun := make(chan error, each)
	for i := range each {
		w.group.Go(func() error {
			n := 0
			err := w.count(ctx, addrs, open, fmt.Sprintf("w%d", i), func() {
				if n++; n == enough {
					begun <- nil
				}
			})
			if n < enough {
				begun <- err
			}
			return nil
		})
	}
	var err error
	for range each {
		err = errors.Join(err, <-begun)
	}
	if err != nil {
		w.stop()
	}
	return w, err
}

func (w *writers) count(ctx context.Context, addrs []string, open opener, key string, acked func()) error {
	s, err := open(ctx, addrs)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer context.AfterFunc(ctx, s.close)()
	defer s.close()
	from, err := s.get(ctx, key)
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	for n := from + 1; ; n++ {
		if err := s.put(ctx, key, n); err != nil {
			return fmt.Errorf("put: %w", err)
		}
		w.mu.Lock()
		w.acked[key] = n
		w.mu.Unlock()
		acked()
	}
}

func (w *writers) stop() map[string]int {
	w.cancel()
	_ = w.group.Wait() // they were stopped
	return w.acked
}

func read(ctx context.Context, c *Cluster, open opener, key string) (int, error) {
	_, addrs := servers(c)
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	s, err := open(ctx, addrs)
	if err != nil {
		return 0, err
	}
	defer s.close()
	return s.get(ctx, key)
}

func cutAll(t *testing.T, c *Cluster, tear bool) (total compose.PowerLost) {
	t.Helper()
	names, _ := servers(c)
	for _, n := range names {
		if err := c.Kill(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range names {
		lost, err := c.CutPower(t.Context(), n, tear)
		if err != nil {
			t.Fatal(err)
		}
		total.Bytes += lost.Bytes
		total.Torn += lost.Torn
	}
	return total
}

func restartAll(t *testing.T, c *Cluster) error {
	t.Helper()
	names, _ := servers(c)
	var g errgroup.Group
	for _, n := range names {
		g.Go(func() error { return c.Restart(t.Context(), n, false) })
	}
	return g.Wait()
}

// BenchmarkDisks measures what one of picklock's own disks costs: one writer, one write after the
// other, each acknowledged. Without one the files are in memory.
func BenchmarkDisks(b *testing.B) {
	for _, k := range kept {
		if k.unsafe != nil {
			continue
		}
		for _, disks := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/disks=%v", k.cluster, disks), func(b *testing.B) {
				c := startKept(b, k.cluster, nil, disks)
				_, addrs := servers(c)
				s, err := k.open(b.Context(), addrs)
				if err != nil {
					b.Fatal(err)
				}
				defer s.close()
				if err := s.put(b.Context(), "w", 1); err != nil {
					b.Fatal(err)
				}
				for n := 0; b.Loop(); n++ {
					if err := s.put(b.Context(), "w", n); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// Faults overlap: a disk that is tried while its server loses its power answers when it is back,
// and a sync that it keeps waiting does not keep the power.
func TestTriedWhileThePowerIsCut(t *testing.T) {
	c := startWithDisks(t, "etcd-single", nil)
	names, _ := servers(c)
	name := names[0]
	for _, fault := range []compose.DiskFault{compose.DiskWell, compose.DiskStall} {
		if err := c.SetDisk(t.Context(), name, fault, 0); err != nil {
			t.Fatal(err)
		}
		trying, stop := context.WithCancel(t.Context())
		var tries errgroup.Group
		for range 4 {
			tries.Go(func() error {
				for trying.Err() == nil {
					if err := c.TryDisk(trying, name); err != nil && !errors.Is(err, context.Canceled) {
						return err
					}
				}
				return nil
			})
		}
		for i := range 10 {
			if err := c.Kill(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if _, err := c.CutPower(t.Context(), name, false); err != nil {
				t.Fatalf("%s, loss %d: %v", fault, i, err)
			}
		}
		stop()
		if err := tries.Wait(); err != nil {
			t.Errorf("%s: a disk that was tried meanwhile: %v", fault, err)
		}
		if err := c.SetDisk(t.Context(), name, compose.DiskWell, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// Faults overlap: of two that kill one server, the second may strike while the first has it
// started again. That start fails because of a kill, and the server can be started after it.
func TestKilledWhileItStarts(t *testing.T) {
	c := startWithDisks(t, "etcd-single", nil)
	const name = "etcd"
	down := func() {
		t.Helper()
		if err := c.Kill(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	down()
	killed := 0
	for range 10 {
		started := make(chan error, 1)
		go func() { started <- c.Restart(t.Context(), name, false) }()
		for {
			n, err := c.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			if n.PID != 0 {
				break
			}
			time.Sleep(time.Millisecond) // nothing tells of a process before it answers
		}
		down()
		if _, err := c.CutPower(t.Context(), name, false); err != nil {
			t.Fatal(err)
		}
		if err := <-started; errors.Is(err, compose.ErrKilled) {
			killed++
		} else if err != nil {
			t.Fatalf("it was killed: %v", err)
		}
	}
	if killed == 0 {
		t.Error("no start was interrupted: the kills came too late")
	}
	if err := c.Restart(t.Context(), name, false); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), name, false); !errors.Is(err, compose.ErrRuns) {
		t.Errorf("it runs: %v", err)
	}
}
