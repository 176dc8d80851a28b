package docker

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/testkit"
)

// What is missing is one line that says what to do, and nothing is
// left.
func TestErrors(t *testing.T) {
	e := needEngine(t)
	run := []string{"run", "--lock", "redis", "--runtime", "docker", "--duration", "1s", "--out", filepath.Join(t.TempDir(), "run")}
	bare := t.TempDir() // a PATH without compose
	tests := []struct {
		name string
		env  []string
		args []string
		want string
		code int
	}{
		{"no engine", []string{"DOCKER_HOST=unix:///nonexistent.sock"}, run, "no Docker engine answers at unix:///nonexistent.sock: start it or set DOCKER_HOST", 255},
		{"no engine over TCP", []string{"DOCKER_HOST=tcp://127.0.0.1:1"}, run, "no Docker engine answers at tcp://127.0.0.1:1", 255},
		{"no compose", []string{"PATH=" + bare}, run, "apt-get install docker-compose", 255},
		{"missing image", []string{"PICKLOCK_REDIS_IMAGE=picklock.invalid/none:1"}, run, "set PICKLOCK_REDIS_IMAGE; scripts/images builds", 254},
		{"not a Linux program", []string{programEnv + "=/etc/hostname"}, run, "CGO_ENABLED=0 GOOS=linux", 255},
		{"missing clients' image", nil, append(slices.Clone(run), "--client-image", "picklock.invalid/none:1"), "docker pull or docker build it first", 255},
	}
	if os.Getuid() == 0 {
		socket := noEntry(t)
		tests = append(tests, struct {
			name string
			env  []string
			args []string
			want string
			code int
		}{"no permission", []string{"DOCKER_HOST=unix://" + socket, "AS_USER=65534"}, run, "sudo usermod -aG docker", 255})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := leavings(t, e)
			code, stdout, stderr := commandAs(t, tt.env, tt.args...)
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			last := lines[len(lines)-1]
			if code != tt.code || stdout != "" || !strings.HasPrefix(last, "picklock: ") || !strings.Contains(last, tt.want) {
				t.Errorf("exit %d, stdout %q, and at last: %s\nwant %d, %q", code, stdout, last, tt.code, tt.want)
			}
			if after := since(before, leavings(t, e)); len(after) > 0 {
				t.Errorf("left behind: %v, was %v", after, before)
			}
		})
	}
}

// noEntry is a socket into which only root is let.
func noEntry(t *testing.T) string {
	dir, err := os.MkdirTemp("", "picklock-socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "docker.sock")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 1); err != nil {
		t.Fatal(err)
	}
	for p, mode := range map[string]os.FileMode{dir: 0o711, path: 0o600} {
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// commandAs runs the program as the user that AS_USER in env names.
func commandAs(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	if !slices.Contains(env, "AS_USER=65534") {
		return command(t, env, args...)
	}
	dir, err := os.MkdirTemp("", "picklock-user")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	theirs := filepath.Join(dir, "picklock")
	testkit.Need(t, "link", os.Link(program, theirs)) // a file system of its own for temporary files
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), theirs, args...)
	cmd.Env = append(append(os.Environ(), env...), "HOME=/")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	var errs strings.Builder
	cmd.Stderr = &errs
	_ = cmd.Run() // the exit code says it
	return cmd.ProcessState.ExitCode(), "", errs.String()
}

// A run that was killed leaves servers behind, but none of them paused or with a
// wrong clock; picklock clean removes them, and nothing of a run that lives.
func TestClean(t *testing.T) {
	e := needEngine(t)
	living, _ := start(t, e, load(t, "redis"))

	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, "run", "--lock", "redis", "--runtime", "docker", "--faults", "pause:redis,clock:redis",
		"--duration", "60s", "--out", filepath.Join(dir, "run"))
	cmd.Dir = dir
	before := runs(t, e)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	defer func() {
		if !killed {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	// Killed in the middle of a pause.
	await(t, "a pause", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "run", "history.jsonl"))
		last := ""
		for l := range strings.Lines(string(text)) {
			if strings.Contains(l, `"f":"pause"`) {
				last = l
			}
		}
		return strings.Contains(last, `"begin"`) && strings.Contains(last, `"confirmed":true`)
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	killed = true
	var dead string
	for run := range runs(t, e) {
		if !before[run] {
			dead = run
		}
	}
	if dead == "" {
		t.Fatal("the killed run left nothing: what is there to clean?")
	}
	// The agent notices by itself and puts the server right.
	await(t, "the agent's end", func() bool {
		agents, err := e.engine.containers(t.Context(), labelRun+"="+dead, labelRole+"="+roleAgent)
		return err == nil && len(agents) == 1 && agents[0].State == "exited"
	})
	servers, err := e.engine.containers(t.Context(), labelRun+"="+dead, labelRole+"="+string(compose.Server))
	if err != nil || len(servers) != 1 || servers[0].State != "running" {
		t.Fatalf("servers %+v, %v", servers, err)
	}
	if s := processState(t, e, servers[0].ID); s == "T" {
		t.Error("the server of a killed run is left stopped")
	}
	// What another has built from picklock's image has its label, and another's name.
	built := make([]string, 2)
	for i, name := range []string{"mine:latest", programRepo + ":mine"} {
		built[i] = name
		dockerfile := "FROM " + programRef + "\nLABEL of=\"another\"\n"
		var files bytes.Buffer
		w := tar.NewWriter(&files)
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: "Dockerfile", Mode: 0o644, Size: int64(len(dockerfile))}), errorOf(io.WriteString(w, dockerfile)), w.Close()); err != nil {
			t.Fatal(err)
		}
		if err := e.engine.build(t.Context(), &files, name, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.engine.removeImage(context.WithoutCancel(t.Context()), name) })
	}
	// Nobody can be asked.
	code, stdout, stderr := command(t, nil, "clean")
	if left := objects(t, e, labelRun+"="+dead); code != 254 || len(left) == 0 || stdout != "" ||
		!strings.Contains(stderr, "would remove container picklock-"+dead) || !strings.Contains(stderr, "add --yes") {
		t.Fatalf("exit %d, %v left: %s%s", code, left, stdout, stderr)
	}
	code, stdout, stderr = command(t, nil, "clean", "--dry-run")
	if left := objects(t, e, labelRun+"="+dead); code != 0 || len(left) == 0 || !strings.Contains(stdout, "would remove container picklock-"+dead) {
		t.Fatalf("exit %d, %v left: %s%s", code, left, stdout, stderr)
	}
	code, stdout, stderr = command(t, nil, "clean", "--yes")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, name := range built {
		if id, err := e.engine.image(t.Context(), name); id == "" || err != nil || strings.Contains(stdout, name) {
			t.Errorf("image %s: %q, %v: %s", name, id, err, stdout)
		}
	}
	wanted := []string{"removed container picklock-" + dead, "removed network picklock-" + dead}
	left := objects(t, e, labelRun+"="+dead)
	if network := "network picklock-" + dead; slices.Equal(left, []string{network}) && strings.Contains(stderr, "remove "+network) && strings.Contains(stderr, errKept.Error()) {
		t.Logf("the engine keeps it, and clean says so: %s", stderr)
		left, wanted = nil, wanted[:1]
	}
	if len(left) > 0 {
		t.Errorf("left behind: %v: %s", left, stderr)
	}
	for _, want := range wanted {
		if !strings.Contains(stdout, want) {
			t.Errorf("clean said %q, want %q in it", stdout, want)
		}
	}
	if strings.Contains(stdout, living.run) {
		t.Errorf("clean touched a living run: %s", stdout)
	}
	if n := nodeOf(t, living, "redis"); n.PID == 0 || len(objects(t, e, labelRun+"="+living.run)) < 3 {
		t.Error("the living run lost something")
	}
}

func errorOf[T any](_ T, err error) error { return err }

func runs(t *testing.T, e *Engine) map[string]bool {
	t.Helper()
	found, err := e.engine.containers(t.Context(), labelAny+"=1")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, c := range found {
		out[c.Labels[labelRun]] = true
	}
	return out
}

// processState is the state of a container's first process as ps prints it, "" where
// the engine's processes cannot be seen from here.
func processState(t *testing.T, e *Engine, id string) string {
	i, err := e.engine.inspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("/proc/" + itoa(i.PID) + "/status")
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if state, ok := strings.CutPrefix(s.Text(), "State:\t"); ok {
			return state[:1]
		}
	}
	return ""
}

func await(t *testing.T, what string, there func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !there() {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s in vain", what)
		}
		time.Sleep(20 * time.Millisecond) // files and the engine do not notify
	}
}

// Runs in a row and two at once leave nothing on the engine but the one image, and
// no packet filter on the machine. PICKLOCK_SOAK=10 makes it ten (make soak ARGS=docker).
func TestRunsLeaveNothing(t *testing.T) {
	e := needEngine(t)
	rows := 1
	if n := os.Getenv("PICKLOCK_SOAK"); n != "" {
		rows = atoi(t, n)
	}
	args := []string{"run", "--lock", "redis", "--runtime", "docker", "--faults", "pause,partition,kill,clock", "--duration", "3s", "--json"}
	one := func() {
		if code, _, stderr := command(t, nil, args...); code > 2 {
			t.Errorf("exit %d: %s", code, stderr)
		}
	}
	one() // it may have made the image
	before, filters := leavings(t, e), tables(t)
	for range rows {
		one()
		var both sync.WaitGroup
		both.Go(one)
		both.Go(one)
		both.Wait()
		if after := since(before, leavings(t, e)); len(after) > 0 {
			t.Fatalf("left behind: %v, was %v", after, before)
		}
		if now := tables(t); !slices.Equal(filters, now) {
			t.Fatalf("packet filters %v, was %v", now, filters)
		}
	}
}

// A cluster of the user's own, with labels instead of x-picklock.
func TestTheirCluster(t *testing.T) {
	needEngine(t)
	image := os.Getenv("PICKLOCK_REDIS_IMAGE")
	if image == "" {
		image = "redis:8"
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "their.yml")
	write(t, file, `
services:
  cache:
    image: `+image+`
    command: [redis-server, --port, "7000"]
    ports: ["6379:7000"]
    container_name: cache
    init: true
    user: "999:999"
    volumes: ["data:/data"]
    labels: ["picklock.role=server", "picklock.port=7000"]
volumes: {data: {}}
`)
	// One run each: faults that overlap take each other's victims away.
	for _, faults := range []string{"pause:cache,clock:cache", "kill:cache:wipe"} {
		out := filepath.Join(dir, faults[:4])
		code, stdout, stderr := command(t, nil, "run", "--lock", "redis", "--cluster", file, "--runtime", "docker", "--faults", faults, "--duration", "6s", "--json", "--out", out)
		if code > 2 {
			t.Fatalf("%s: exit %d: %s", faults, code, stderr)
		}
		var v struct {
			Stats struct {
				Faults map[string]struct{ Injected, Confirmed int }
			}
		}
		if err := json.Unmarshal([]byte(stdout), &v); err != nil {
			t.Fatal(err)
		}
		if len(v.Stats.Faults) != strings.Count(faults, ",")+1 {
			t.Errorf("%s: faults %v", faults, v.Stats.Faults)
		}
		for name, f := range v.Stats.Faults {
			if f.Confirmed == 0 || f.Confirmed < f.Injected {
				t.Errorf("%s confirmed %d times of %d", name, f.Confirmed, f.Injected)
			}
		}
	}
}
