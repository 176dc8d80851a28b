package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"go.uber.org/goleak"
)

// ProgramEnv is the path of a picklock program that was built from the tree under test,
// so that its packages need not link one each.
const ProgramEnv = "PICKLOCK_TEST_PROGRAM"

// Program returns the path of the picklock program: the one that ProgramEnv names, or one
// that is built now. remove takes away what was made for it. Every user may run it.
func Program() (path string, remove func(), err error) {
	if path := os.Getenv(ProgramEnv); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", nil, fmt.Errorf("%s: %w", ProgramEnv, err)
		}
		return path, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "picklock-test")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			remove()
		}
	}()
	if err := os.Chmod(dir, 0o755); err != nil { // ordinary users run it, too
		return "", nil, err
	}
	path = filepath.Join(dir, "picklock")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "github.com/picklock/picklock/cmd/picklock")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("build picklock: %w\n%s", err, out)
	}
	return path, remove, nil
}

// WithProgram runs a package's tests with the program at hand, and returns their exit code.
func WithProgram(program *string, run func() int) int {
	path, remove, err := Program()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	*program = path
	return run()
}

// NoneLeft is the exit code of a package's tests that may leave no goroutine behind.
func NoneLeft(code int) int {
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		return 1
	}
	return 0
}
