// Package scripts tests what people run by hand and the Makefile calls.
package scripts

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/internal/testkit"
)

// machine is an engine of a test's own: another folder, another socket, no bridge and no
// packet filters, so that one that answers already does not notice.
type machine struct {
	*testing.T
	dir string
	env []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		testkit.Need(t, "dockerd", errors.New("dockerd needs root"))
	}
	testkit.NeedProgram(t, "dockerd", "scripts/install dockerd")
	dir, err := os.MkdirTemp("", "engine") // the path of a socket in it is short
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{T: t, dir: dir, env: append(os.Environ(), "PICKLOCK_ENGINE_DIR="+dir, "PICKLOCK_ENGINE_FLAGS=--bridge=none --iptables=false", "DOCKER_HOST=unix://"+dir+"/docker.sock")}
	t.Cleanup(func() {
		if said, err := m.try("stop", "--force"); err != nil {
			t.Errorf("stop: %v: %s", err, said)
		}
		if left := m.processes(); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
		if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || bytes.Contains(mounts, []byte(dir)) {
			t.Errorf("something is mounted below %s still (%v)", dir, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return m
}

// try runs the script and returns all that it wrote.
func (m *machine) try(args ...string) (string, error) {
	cmd := exec.Command("./engine", args...)
	cmd.Env = m.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// engine runs the script, which must succeed and say all of these.
func (m *machine) engine(command string, says ...string) string {
	m.Helper()
	said, err := m.try(strings.Fields(command)...)
	if err != nil {
		m.Fatalf("engine %s: %v: %s", command, err, said)
	}
	for _, s := range says {
		if !strings.Contains(said, s) {
			m.Errorf("engine %s does not say %q: %s", command, s, said)
		}
	}
	return said
}

// refused runs the script, which must fail and say all of these.
func (m *machine) refused(command string, says ...string) {
	m.Helper()
	said, err := m.try(strings.Fields(command)...)
	if err == nil {
		m.Errorf("engine %s succeeds: %s", command, said)
	}
	for _, s := range says {
		if !strings.Contains(said, s) {
			m.Errorf("engine %s does not say %q: %s", command, s, said)
		}
	}
}

func (m *machine) docker(args ...string) string {
	m.Helper()
	cmd := exec.Command("docker", args...)
	cmd.Env = m.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		m.Fatalf("docker %v: %v: %s", args, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// pid is that of the engine that the script started.
func (m *machine) pid() int {
	m.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, "pid"))
	if err != nil {
		m.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.Fields(string(text))[0])
	if err != nil {
		m.Fatal(err)
	}
	return pid
}

// kill9 ends the engine as no engine expects it.
func (m *machine) kill9() {
	m.Helper()
	pid := m.pid()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		m.Fatal(err)
	}
	for range 1000 {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	m.Fatal("dockerd outlives SIGKILL")
}

// processes lists those whose arguments name the engine's folder: dockerd, containerd, shims.
func (m *machine) processes() []string {
	m.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		m.Fatal(err)
	}
	var out []string
	for _, f := range all {
		if line, err := os.ReadFile(f); err == nil && bytes.Contains(line, []byte(m.dir+"/")) {
			out = append(out, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}

// container starts one that runs until it is ended, and returns its process.
func (m *machine) container(name string) int {
	m.Helper()
	program, remove, err := testkit.Program()
	if err != nil {
		m.Fatal(err)
	}
	defer remove()
	content, err := os.ReadFile(program)
	if err != nil {
		m.Fatal(err)
	}
	image := exec.Command("docker", "import", "-", "test")
	image.Env = m.env
	in, err := image.StdinPipe()
	if err != nil {
		m.Fatal(err)
	}
	if err := image.Start(); err != nil {
		m.Fatal(err)
	}
	w := tar.NewWriter(in)
	err = w.WriteHeader(&tar.Header{Name: "picklock", Mode: 0o755, Size: int64(len(content))})
	_, werr := io.Copy(w, bytes.NewReader(content))
	if err := errors.Join(err, werr, w.Close(), in.Close(), image.Wait()); err != nil {
		m.Fatal(err)
	}
	m.docker("run", "--detach", "--interactive", "--network", "none", "--name", name, "test", "/picklock", "agent", "--run", "test")
	pid, err := strconv.Atoi(m.docker("inspect", "--format", "{{.State.Pid}}", name))
	if err != nil || pid == 0 {
		m.Fatalf("the container has no process: %v", err)
	}
	return pid
}

func TestEngineStartsAndStops(t *testing.T) {
	m := newMachine(t)
	m.refused("status", "no engine answers")
	m.engine("start", "export DOCKER_HOST=unix://"+m.dir+"/docker.sock", "started dockerd")
	first := m.pid()
	m.engine("start", "answers", "started from here")
	if now := m.pid(); now != first {
		t.Errorf("a second start has started another engine: %d, then %d", first, now)
	}
	m.engine("status", strconv.Itoa(first))
	m.engine("stop", "ended dockerd")
	m.engine("stop", "no engine was started from here")
	m.refused("status", "no engine answers")
}

// An engine that was killed leaves containers: stop ends them, and so does start.
func TestEngineAfterKill(t *testing.T) {
	m := newMachine(t)
	m.engine("start")
	for _, next := range []string{"stop", "start"} {
		pid := m.container(next)
		m.kill9()
		m.engine(next)
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && bytes.Contains(stat, []byte("picklock")) {
			t.Errorf("%s: the container of the killed engine runs still", next)
		}
		m.engine("start")
	}
}

// An engine that was killed while it wrote down its networks left a file that the next cannot read.
func TestEngineAfterTornNetworks(t *testing.T) {
	m := newMachine(t)
	m.engine("start")
	m.engine("stop")
	list := filepath.Join(m.dir, "data/network/files/local-kv.db")
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(list, bytes.Repeat([]byte("torn"), len(text)/4), 0o600); err != nil {
		t.Fatal(err)
	}
	m.engine("start", "starts without that", "started dockerd")
	m.engine("stop")
	m.engine("start", "started dockerd")
}

// What a killed engine's files say of processes is not believed: the pids are others' now.
func TestEngineEndsNobodyElse(t *testing.T) {
	m := newMachine(t)
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		other.Process.Kill()
		other.Wait()
	}()
	m.engine("start")
	m.engine("stop")
	lies := func() {
		t.Helper()
		pid := strconv.Itoa(other.Process.Pid)
		for file, text := range map[string]string{
			"pid": pid + " 1 00000000-0000-0000-0000-000000000000\n", "dockerd.pid": pid, "run/containerd/containerd.pid": pid,
		} {
			path := filepath.Join(m.dir, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	lies()
	m.engine("stop", "has ended without us")
	lies()
	m.engine("start", "started dockerd")
	m.engine("stop", "ended dockerd")
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a process that had nothing to do with it was ended: %v", err)
	}
}

// The last user ends what was started for a run, and no one ends what was started by hand.
func TestEngineRun(t *testing.T) {
	m := newMachine(t)
	m.engine("run --optional ./engine status", "started dockerd", "until its last user ends", "ended dockerd")
	m.refused("run false", "started dockerd", "ended dockerd")
	// One inside another: the inner finds an engine, and leaves it to the outer.
	said := m.engine("run ./engine run ./engine status", "ended dockerd")
	if n := strings.Count(said, "started dockerd"); n != 1 {
		t.Errorf("started %d times: %s", n, said)
	}
	if n := strings.Count(said, "ended dockerd"); n != 1 {
		t.Errorf("ended %d times: %s", n, said)
	}
	m.engine("start")
	m.engine("run ./engine status")
	m.engine("status", "started from here")
	m.refused("run ./engine stop", "in use")
	m.engine("stop", "ended dockerd")
	// Started for a run, then asked for: it stays.
	m.engine("run ./engine start", "started dockerd")
	m.engine("status", "started from here")
}

func TestEngineSaysWhatIsMissing(t *testing.T) {
	m := newMachine(t)
	bin := t.TempDir()
	fake := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := m.env
	m.env = append(env, "PICKLOCK_ENGINE_FLAGS=--no-such-flag")
	m.refused("start", "dockerd has ended", "no-such-flag", m.dir+"/dockerd.log")
	m.env = append(env, "PATH="+bin+":"+os.Getenv("PATH"))
	fake("sudo", "exit 1")
	fake("id", "echo 1000")
	m.refused("start", "needs root", "sudo asks for a password")
	m.refused("run true", "needs root", "is not run")
	m.engine("run --optional echo it ran", "needs root", "NO DOCKER ENGINE", "it ran")
	fake("docker", "echo permission denied while trying to connect >&2; exit 1")
	m.refused("start", "does not let you in", "usermod -aG docker")
}
