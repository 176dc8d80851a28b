package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/compose/local"
	"github.com/picklock/picklock/internal/testkit"
)

var sandbox *local.Sandbox

// serverEnv makes this test's program serve disks: it must not use its own.
const serverEnv = "PICKLOCK_TEST_SERVE_DISKS"

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		if err := Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var code int
	var done bool
	if sandbox, code, done = local.Enter(); done {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// served is a disk that another process serves.
type served struct {
	t       *testing.T
	at      string
	in      io.WriteCloser
	answers *json.Decoder
	cmd     *exec.Cmd
}

func serveDisk(t *testing.T) *served {
	t.Helper()
	if !sandbox.Isolated {
		testkit.Need(t, "fuse", errors.New("no namespaces here: "+sandbox.Why))
	}
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		testkit.Need(t, "fuse", err)
	} else {
		f.Close()
	}
	dir := t.TempDir()
	s := &served{t: t, at: filepath.Join(dir, "at")}
	if err := os.Mkdir(s.at, 0o755); err != nil {
		t.Fatal(err)
	}
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(os.Environ(), serverEnv+"=1")
	s.cmd.Stderr = os.Stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.answers = json.NewDecoder(out)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.in.Close()
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("the disks' process: %v", err)
		}
		if inside, err := os.ReadDir(s.at); err != nil || len(inside) > 0 {
			t.Errorf("the disk is still mounted: %v, %v", inside, err)
		}
	})
	s.ask(compose.DiskRequest{Do: "mount", At: s.at, Store: filepath.Join(dir, "store")})
	return s
}

func (s *served) ask(r compose.DiskRequest) compose.PowerLost {
	s.t.Helper()
	var a compose.DiskAnswer
	if err := json.NewEncoder(s.in).Encode(r); err != nil {
		s.t.Fatal(err)
	}
	if err := s.answers.Decode(&a); err != nil || a.Error != "" {
		s.t.Fatal(r, a.Error, err)
	}
	return a.Lost
}

// write writes a file and closes it.
func (s *served) write(name, text string, flags int, then func(f *os.File) error) error {
	f, err := os.OpenFile(filepath.Join(s.at, name), os.O_CREATE|os.O_RDWR|flags, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write([]byte(text)); err != nil {
		return err
	}
	if then != nil {
		return then(f)
	}
	return nil
}

func fsync(f *os.File) error { return f.Sync() }

func (s *served) content() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	inside, err := os.ReadDir(s.at)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range inside {
		text, err := os.ReadFile(filepath.Join(s.at, e.Name()))
		if err != nil && !e.IsDir() {
			s.t.Fatal(err)
		}
		out[e.Name()] = string(text)
	}
	return out
}

// Every way to sync makes durable what it should, through the kernel, and nothing else
// is there after a loss of power.
func TestWhatIsSynced(t *testing.T) {
	s := serveDisk(t)
	mapped := func(msync bool) func(f *os.File) error {
		return func(f *os.File) error {
			m, err := unix.Mmap(int(f.Fd()), 0, 6, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				return err
			}
			copy(m, "MAPPED")
			if msync {
				err = unix.Msync(m, unix.MS_SYNC)
			}
			return errors.Join(err, unix.Munmap(m))
		}
	}
	ways := []struct {
		name  string
		flags int
		then  func(f *os.File) error
		kept  string
	}{
		{"nothing", 0, nil, ""},
		{"close", 0, func(f *os.File) error { return f.Close() }, ""},
		{"fsync", 0, fsync, "data.."},
		{"fdatasync", 0, func(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }, "data.."},
		{"o_sync", unix.O_SYNC, nil, "data.."},
		{"o_dsync", unix.O_DSYNC, nil, "data.."},
		{"append", os.O_APPEND, fsync, "data.."},
		{"msync", 0, mapped(true), "MAPPED"},
		{"mapped only", 0, mapped(false), ""},
		{"write after", 0, func(f *os.File) error {
			_, err := f.WriteString(", and more")
			return errors.Join(f.Sync(), err, ignore(f.WriteString(", lost")))
		}, "data.., and more"},
		{"truncated", 0, func(f *os.File) error { return errors.Join(f.Sync(), f.Truncate(2)) }, "data.."},
		{"allocated", 0, func(f *os.File) error { return errors.Join(f.Sync(), unix.Fallocate(int(f.Fd()), 0, 0, 9000)) }, "data.."},
		{"hole", 0, func(f *os.File) error {
			return errors.Join(f.Sync(), unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 3))
		}, "data.."},
		{"zz", 0, fsync, "data.."}, // makes all names before it durable
	}
	want := map[string]string{}
	for _, w := range ways {
		if err := s.write(w.name, "data..", w.flags, w.then); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Fatalf("%s: %v", w.name, err)
		}
		want[w.name] = w.kept
	}
	if err := s.write("too late", "data", 0, nil); err != nil {
		t.Fatal(err)
	}
	if lost := s.ask(compose.DiskRequest{Do: "lose"}); lost.Bytes == 0 || lost.Names != 1 {
		t.Errorf("lost %+v", lost)
	}
	if got := s.content(); !maps.Equal(got, want) {
		t.Errorf("left\n%q, want\n%q", got, want)
	}
	if lost := s.ask(compose.DiskRequest{Do: "lose"}); lost != (compose.PowerLost{}) {
		t.Errorf("a second loss took %+v", lost)
	}
}

func ignore[T any](_ T, err error) error { return err }

// A file is replaced safely by a rename whose folder is synced, and a rename alone is
// undone.
func TestNames(t *testing.T) {
	s := serveDisk(t)
	path := func(n string) string { return filepath.Join(s.at, n) }
	folder := func() {
		t.Helper()
		d, err := os.Open(s.at)
		if err == nil {
			err = errors.Join(d.Sync(), d.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	steps := errors.Join(s.write("a", "old", 0, fsync), s.write("b", "old", 0, fsync), s.write("new", "new", 0, fsync), os.Rename(path("new"), path("a")))
	if steps != nil {
		t.Fatal(steps)
	}
	folder()
	held, err := os.Open(path("b"))
	if err != nil {
		t.Fatal(err)
	}
	steps = errors.Join(s.write("new", "new", 0, nil), os.Rename(path("new"), path("b")), os.Mkdir(path("d"), 0o755),
		os.Rename(path("a"), path("d/a")), os.Symlink("b", path("l")))
	if steps != nil {
		t.Fatal(steps)
	}
	// Who has a file open reads on in what was replaced.
	if text, err := io.ReadAll(held); err != nil || string(text) != "old" {
		t.Errorf("read %q, %v", text, err)
	}
	if fi, err := held.Stat(); err != nil || fi.Size() != 3 {
		t.Errorf("%v, %v", fi, err)
	}
	held.Close()
	if got, want := s.content(), map[string]string{"b": "new", "l": "new", "d": ""}; !maps.Equal(got, want) {
		t.Errorf("there is %q, want %q", got, want)
	}
	s.ask(compose.DiskRequest{Do: "lose"})
	if got, want := s.content(), map[string]string{"a": "new", "b": "old"}; !maps.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
}

func TestFaults(t *testing.T) {
	s := serveDisk(t)
	if err := s.write("old", "data", 0, fsync); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		fault compose.DiskFault
		want  error
	}{{compose.DiskFull, syscall.ENOSPC}, {compose.DiskEIO, syscall.EIO}, {compose.DiskWell, nil}}
	for _, tt := range tests {
		fault, want := tt.fault, tt.want
		s.ask(compose.DiskRequest{Do: "set", Fault: fault})
		inPlace := want
		if fault == compose.DiskFull {
			inPlace = nil
		}
		if err := s.write("old", "DATA", 0, fsync); !errors.Is(err, inPlace) {
			t.Errorf("%q: a write in place: %v", fault, err)
		}
		for _, name := range []string{"new", Probe} {
			if err := s.write(name, "x", 0, nil); !errors.Is(err, want) {
				t.Errorf("%q: %s: %v", fault, name, err)
			}
		}
	}
	if got := s.content(); !slices.Equal(slices.Sorted(maps.Keys(got)), []string{"new", "old"}) {
		t.Errorf("there is %q", got)
	}
}

// A process that hangs in a sync can be killed, and what it wanted to sync is not.
func TestKilledInAStall(t *testing.T) {
	s := serveDisk(t)
	s.ask(compose.DiskRequest{Do: "set", Fault: compose.DiskStall})
	for range 3 {
		cmd := exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(s.at, "file"), "bs=100", "count=1", "conv=fsync")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		gone := make(chan error, 1)
		go func() { gone <- cmd.Wait() }()
		hangs(t, cmd.Process.Pid)
		for _, sig := range []os.Signal{syscall.SIGSTOP, syscall.SIGCONT, os.Kill} {
			select {
			case err := <-gone:
				t.Fatalf("it ended before %v: %v", sig, err)
			default:
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			t.Fatal("it does not die")
		}
	}
	s.ask(compose.DiskRequest{Do: "set"})
	if lost := s.ask(compose.DiskRequest{Do: "lose"}); lost.Bytes != 300 {
		t.Errorf("lost %+v", lost)
	}
}

// hangs waits until a process is in a sync.
func hangs(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
		var nr int
		if _, err := fmt.Sscan(string(text), &nr); err == nil && nr == unix.SYS_FSYNC {
			return
		}
	}
	t.Fatal("it never came to its sync")
}

// When the process that serves the disks is gone, nothing hangs.
func TestServerGone(t *testing.T) {
	s := serveDisk(t)
	s.ask(compose.DiskRequest{Do: "set", Fault: compose.DiskStall})
	failed := make(chan error, 1)
	go func() { failed <- s.write("file", "x", 0, fsync) }()
	// The other end must be in its sync; nothing tells but that it is still there.
	select {
	case err := <-failed:
		t.Fatalf("the sync did not hang: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	s.in.Close()
	select {
	case err := <-failed:
		if err == nil {
			return // the end of the fault let it through
		}
		if !errors.Is(err, syscall.ENOTCONN) && !errors.Is(err, syscall.ECONNABORTED) && !errors.Is(err, syscall.EIO) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it still hangs")
	}
}

func TestServeRefuses(t *testing.T) {
	tests := map[string]string{
		`{"do":"lose","disk":"x"}`:  `no disk "x"`,
		`{"do":"eat","disk":"d"}`:   "no such thing",
		`{"do":"mount","disk":"d"}`: `there is a disk "d"`,
		`{"do":"mount","disk":"e","at":"/nowhere/at","store":"/proc/nowhere"}`: "make a disk",
	}
	for ask, want := range tests {
		s := &server{mount: func(at, store string) (mounted, error) { return Mount(at, store) }, disks: map[string]mounted{"d": nil}}
		var r compose.DiskRequest
		if err := json.Unmarshal([]byte(ask), &r); err != nil {
			t.Fatal(err)
		}
		_, err := s.do(r)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", ask, err, want)
		}
	}
}
