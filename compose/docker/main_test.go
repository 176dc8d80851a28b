package docker

import (
	"bytes"
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

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/nemesis"
)

// program is the picklock binary: what runs in the containers, and what its user
// sees.
var program string

// programRef is its image, which stays for later runs.
var programRef string

// engineless says why the tests that need an engine cannot run; nil if they can.
var engineless error

func TestMain(m *testing.M) {
	os.Exit(testkit.WithProgram(&program, func() int {
		if err := prepare(); errors.As(err, new(absent)) {
			engineless = err
		} else if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return testkit.NoneLeft(m.Run())
	}))
}

// absent is what a machine lacks for the tests that need an engine.
type absent struct{ error }

// prepare puts the program into an image and sees to one of Redis.
func prepare() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	e, err := Connect(ctx)
	if err != nil {
		return absent{fmt.Errorf("%w (scripts/engine starts one)", err)}
	}
	defer e.Close()
	if _, err := e.Compose(ctx); err != nil {
		return absent{err}
	}
	if programRef, err = e.programImage(ctx, program, ""); err != nil {
		return err
	}
	if os.Getenv("PICKLOCK_REDIS_IMAGE") != "" {
		return nil
	}
	def, err := compose.Load(ctx, "redis")
	if err != nil {
		return err
	}
	if missing, err := e.Missing(ctx, def); err != nil || missing == "" {
		return err
	}
	const built = "picklock/redis:debian"
	if id, err := e.engine.image(ctx, built); err != nil {
		return err
	} else if id == "" {
		if out, err := exec.CommandContext(ctx, "../../scripts/images", "redis").CombinedOutput(); err != nil {
			return absent{fmt.Errorf("no image of Redis is here, and none can be built: %w: %s", err, out)}
		}
	}
	return os.Setenv("PICKLOCK_REDIS_IMAGE", built)
}

func needEngine(t *testing.T) *Engine {
	t.Helper()
	testkit.Need(t, "docker", engineless)
	e, err := Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// start brings up a cluster of the definition, with the real agent.
func start(t *testing.T, e *Engine, def *compose.Definition) (*Cluster, *nemesis.Remote) {
	t.Helper()
	c, remote, err := tryStart(t, e, def)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if left := objects(t, e, labelRun+"="+c.run); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return c, remote
}

func tryStart(t *testing.T, e *Engine, def *compose.Definition) (*Cluster, *nemesis.Remote, error) {
	var remote *nemesis.Remote
	c, err := e.Start(t.Context(), def, Options{
		Options: compose.Options{Self: program, LogDir: filepath.Join(t.TempDir(), "nodes")},
		NewAgent: func(p *compose.Process) Agent {
			remote = nemesis.NewRemote(p.Stdin, p.Stdout, p.Err)
			return remote
		},
	})
	return c, remote, err
}

// objects lists all that carries a label, by kind and name.
func objects(t *testing.T, e *Engine, label string) []string {
	t.Helper()
	var out []string
	add := func(kind string, found []object, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			out = append(out, kind+" "+f.Name)
		}
	}
	ctx := context.WithoutCancel(t.Context())
	c, err := e.engine.containers(ctx, label)
	add("container", c, err)
	n, err := e.engine.networks(ctx, label)
	add("network", n, err)
	v, err := e.engine.volumes(ctx, label)
	add("volume", v, err)
	i, err := e.engine.images(ctx, label)
	add("image", i, err)
	slices.Sort(out)
	return out
}

// leavings lists what dead runs left, and the images of this program; what runs
// besides the tests does not matter.
func leavings(t *testing.T, e *Engine) []string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var out []string
	left, err := e.dead(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for run, what := range left {
		// What the engine itself keeps is none of a run's leavings; the run has warned of it.
		if err := e.removeNetworks(ctx, labelRun+"="+run); errors.Is(err, errKept) {
			t.Log(err)
			what = slices.DeleteFunc(what, func(w string) bool { return strings.HasPrefix(w, "network ") })
		}
		for _, w := range what {
			out = append(out, run+" "+w)
		}
	}
	images, err := e.engine.images(ctx, labelAny+"=1")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range images {
		if i.Name == programRef || i.Name == i.ID { // those of other builds are others'
			out = append(out, "image "+i.Name)
		}
	}
	slices.Sort(out)
	return out
}

// since is what is left now and was not before. What an earlier test left may go meanwhile: the engine keeps a network for a while.
func since(before, now []string) []string {
	return slices.DeleteFunc(now, func(left string) bool { return slices.Contains(before, left) })
}

func load(t *testing.T, nameOrText string) *compose.Definition {
	t.Helper()
	if strings.Contains(nameOrText, "services:") { // else a name or a file
		f := filepath.Join(t.TempDir(), "their.yml")
		if err := os.WriteFile(f, []byte(nameOrText), 0o600); err != nil {
			t.Fatal(err)
		}
		nameOrText = f
	}
	def, err := compose.Load(t.Context(), nameOrText)
	if err != nil {
		t.Fatal(err)
	}
	return def
}

// command runs the program as a user would.
func command(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
