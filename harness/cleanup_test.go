//go:build linux

package harness_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/internal/testkit"
)

// underway is a run that has begun.
type underway struct {
	cmd    *exec.Cmd
	stderr *lockedBuffer
	mark   string // in the environment of all its processes
	dir    string
}

// lockedBuffer may be read after the process that writes to it has ended.
type lockedBuffer struct {
	bytes.Buffer
	done chan struct{}
}

// begin starts a long run and returns when its clients work.
func begin(t *testing.T, env []string, args ...string) *underway {
	t.Helper()
	t.Cleanup(turn(t.Context(), args))
	u := &underway{mark: fmt.Sprintf("PICKLOCK_TEST=%s-%d", t.Name(), time.Now().UnixNano()), dir: filepath.Join(t.TempDir(), "run")}
	args = append([]string{"run", "--lock", "redis", "--duration", "2m", "--out", u.dir}, args...)
	u.cmd = exec.Command(program, args...)
	u.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does
	u.cmd.Env = append(append(os.Environ(), u.mark), env...)
	r, err := u.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := u.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	u.stderr = &lockedBuffer{done: make(chan struct{})}
	running := make(chan bool, 1)
	go func() {
		defer close(u.stderr.done)
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			fmt.Fprintln(u.stderr, lines.Text())
			if lines.Text() == "picklock: run" {
				running <- true
			}
		}
		close(running)
	}()
	if !<-running {
		t.Fatalf("the run ended early: %v\n%s", u.cmd.Wait(), u.stderr)
	}
	return u
}

// end waits for the run's end and returns its exit code and what it said.
func (u *underway) end() (int, string) {
	<-u.stderr.done
	_ = u.cmd.Wait() // the exit code says it
	return u.cmd.ProcessState.ExitCode(), u.stderr.String()
}

// processes lists the ids of the run's processes that there are, by command line.
func (u *underway) processes() map[int]string {
	out := map[int]string{}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		env, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// Redis writes its title over its environment; its directory tells.
		cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		if !bytes.Contains(env, []byte(u.mark)) && !strings.HasPrefix(cwd, u.dir) {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && len(line) > 0 {
			out[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return out
}

// find returns the process whose command line contains text.
func (u *underway) find(t *testing.T, text string) int {
	t.Helper()
	for pid, line := range u.processes() {
		if strings.Contains(line, text) && pid != u.cmd.Process.Pid {
			return pid
		}
	}
	t.Fatalf("no process with %q among %v", text, u.processes())
	return 0
}

// gone fails the test if anything of the run is left.
func (u *underway) gone(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for len(u.processes()) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("processes are left: %v", u.processes())
		}
		time.Sleep(5 * time.Millisecond) // no event tells of the end of another process's children
	}
}

// surroundings are the machine's interfaces and mounts, as the user sees them.
func surroundings(t *testing.T) []string {
	t.Helper()
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range interfaces {
		out = append(out, i.Name)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		out = append(out, strings.Fields(line)[4])
	}
	slices.Sort(out)
	return out
}

func TestNothingIsLeft(t *testing.T) {
	need(t, "redis")
	before := surroundings(t)
	modes := map[string][]string{"namespaces": nil, "loopback": {"PICKLOCK_LAB=loopback"}}
	ends := []struct {
		name string
		harm func(t *testing.T, u *underway) error
		code int // cutShort: a verdict, but not that it held
		says string
	}{
		{"interrupt", func(_ *testing.T, u *underway) error { return u.cmd.Process.Signal(os.Interrupt) }, cutShort, "interrupted"},
		{"terminate", func(_ *testing.T, u *underway) error { return u.cmd.Process.Signal(syscall.SIGTERM) }, cutShort, "interrupted"},
		// A terminal's Ctrl-C is for the whole group: clients and servers are none of it.
		{"interrupt the group", func(_ *testing.T, u *underway) error { return syscall.Kill(-u.cmd.Process.Pid, syscall.SIGINT) }, cutShort, "interrupted"},
		{"interrupt twice", func(_ *testing.T, u *underway) error {
			// Two kinds: the kernel may make one of two that are alike.
			return errors.Join(u.cmd.Process.Signal(os.Interrupt), u.cmd.Process.Signal(syscall.SIGTERM))
		}, 255, "abandoned"},
		{"kill", func(_ *testing.T, u *underway) error { return u.cmd.Process.Kill() }, -1, ""},
		{"kill the register", func(t *testing.T, u *underway) error {
			return syscall.Kill(u.find(t, " register --listen"), syscall.SIGKILL)
		}, 255, "register"},
		{"kill a worker", func(t *testing.T, u *underway) error { return syscall.Kill(u.find(t, " worker"), syscall.SIGKILL) }, 255, "signal: killed"},
		{"kill the server", func(t *testing.T, u *underway) error {
			return syscall.Kill(u.find(t, "redis-server"), syscall.SIGKILL)
		}, 255, "redis ended by itself"},
	}
	t.Run("all", func(t *testing.T) { // ends when the last of them has
		for mode, env := range modes {
			for _, end := range ends {
				t.Run(mode+"/"+end.name, func(t *testing.T) {
					t.Parallel()
					u := begin(t, env, "--faults", "pause:holder")
					if err := end.harm(t, u); err != nil {
						t.Fatal(err)
					}
					code, said := u.end()
					if end.code == cutShort {
						u.judgedShort(t, code)
					} else if code != end.code {
						t.Errorf("exit %d, want %d", code, end.code)
					}
					if !strings.Contains(said, end.says) {
						t.Errorf("exit %d, want %q:\n%s", code, end.says, said)
					}
					u.gone(t)
				})
			}
		}
		t.Run("namespaces/kill the inner process", func(t *testing.T) {
			t.Parallel()
			u := begin(t, nil)
			if err := syscall.Kill(u.find(t, "run --lock"), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if code, said := u.end(); code != 255 {
				t.Errorf("exit %d: %s", code, said)
			}
			u.gone(t)
		})
	})
	if after := surroundings(t); !slices.Equal(before, after) {
		t.Errorf("interfaces and mounts before %v, after %v", before, after)
	}
}

func TestTwoRunsSideBySide(t *testing.T) {
	t.Parallel()
	need(t, "redlock")
	for i := range 2 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			o := picklock(t, "--lock", "redlock", "--duration", "5s")
			if o.code != 0 {
				t.Errorf("exit %d: %+v", o.code, o.verdict.Properties)
			}
		})
	}
}

func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	if os.Getuid() != 0 {
		t.Skip("every test here runs as an ordinary user already")
	}
	dir, err := os.MkdirTemp("", "picklock-nobody")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const nobody = 65534
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "run", "--lock", "redis", "--faults", "pause:holder,clock,partition:one,kill:one",
		"--duration", "10s", "--out", filepath.Join(dir, "run"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "this machine cannot") {
		testkit.Need(t, "namespaces", fmt.Errorf("an ordinary user gets none here: %s", out))
	}
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "stale-write") {
		t.Errorf("exit %d (%v):\n%s", code, err, out)
	}
}

func TestLoopback(t *testing.T) {
	need(t, "redis")
	t.Setenv("PICKLOCK_LAB", "loopback")
	o := picklock(t, "--lock", "redis", "--faults", "pause:holder", "--duration", "5s")
	if o.code != 1 || anomalies(o.verdict)["stale-write"] == 0 {
		t.Errorf("exit %d, %v", o.code, anomalies(o.verdict))
	}
	o = picklock(t, "--lock", "redis", "--faults", "partition", "--duration", "5s")
	if o.code != 254 || !strings.Contains(o.stderr, "cannot cut a network") {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
}
