package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/testkit"
)

// program is the picklock binary under test: these tests see what its user sees.
var program string

func TestMain(m *testing.M) {
	os.Exit(testkit.WithProgram(&program, m.Run))
}

// need skips a test whose servers are neither installed here nor to be had, and says what to do.
func need(t *testing.T, clusters ...string) {
	t.Helper()
	for _, name := range clusters {
		def, err := compose.Load(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		plain, _, _ := compose.Version(name)
		family, _, _ := strings.Cut(plain, "-")
		testkit.Need(t, family, def.Build(t.Context(), func(text string) { t.Log(text) }))
		for _, s := range def.Servers() {
			testkit.Need(t, family, s.Spec.Local.Missing())
		}
	}
}

// outcome is what a run of the program came to.
type outcome struct {
	code    int
	verdict checker.Verdict
	dir     string
	stderr  string
}

// picklock runs the program with --json and reads its verdict.
func picklock(t *testing.T, args ...string) outcome {
	t.Helper()
	o := outcome{dir: filepath.Join(t.TempDir(), "run")}
	args = append(append([]string{"run"}, args...), "--json", "--out", o.dir)
	defer turn(t.Context(), args)()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	o.code, o.stderr = cmd.ProcessState.ExitCode(), stderr.String()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			keep(t, o)
		}
	})
	if o.code > 2 {
		return o
	}
	if err := json.Unmarshal(stdout.Bytes(), &o.verdict); err != nil {
		t.Fatalf("verdict: %v\n%s%s", err, stdout.Bytes(), o.stderr)
	}
	return o
}

// keep moves a failed run to where it can be looked at.
func keep(t *testing.T, o outcome) {
	kept, err := os.MkdirTemp("", "picklock-failed-")
	if err == nil {
		err = os.CopyFS(kept, os.DirFS(o.dir))
	}
	t.Logf("the run is kept in %s (%v)\n%s", kept, err, o.stderr)
}

// A busy machine is itself a fault: a clock that was to jump while a client holds the lock
// jumps after it. This many runs at a time leave two cores room, and one whose nodes are
// containers counts for two.
const sideBySide = 6

var slots = make(chan struct{}, sideBySide)

// entering keeps two runs that want two slots each from waiting for one another.
var entering sync.Mutex

// turn waits until there is room for a run of the program, and returns what makes room
// again.
func turn(ctx context.Context, args []string) (done func()) {
	want, have := 1, 0
	if slices.Contains(args, "docker") {
		want = 2
	}
	entering.Lock()
	defer entering.Unlock()
	for have < want && ctx.Err() == nil {
		select {
		case slots <- struct{}{}:
			have++
		case <-ctx.Done():
		}
	}
	return func() {
		for range have {
			<-slots
		}
	}
}

// anomalies counts the verdict's anomalies by name.
func anomalies(v checker.Verdict) map[string]int {
	out := map[string]int{}
	for _, a := range v.Anomalies {
		out[a.Name]++
	}
	return out
}

// needDocker skips a test where no engine answers, and sees to images of the
// servers: where none are named, they are built from this machine's packages.
func needDocker(t *testing.T) {
	t.Helper()
	images.Do(func() { imagesErr = testkit.Images(dockerImages()...) })
	testkit.Need(t, "docker", imagesErr)
}

var (
	images    sync.Once
	imagesErr error
)

// dockerImages are those that the tests on Docker need.
func dockerImages() []string {
	images := []string{"redis", "etcd", "zookeeper"}
	if os.Getenv("PICKLOCK_SOAK") != "" {
		images = append(images, "postgres", "pgbouncer")
	}
	return images
}
