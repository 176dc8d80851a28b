package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Chatter builds the program chatter, which tells what comes through a network from a
// program's first moment on (see its own comment), for Linux on this kind of processor.
func Chatter(t testing.TB, arch string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "chatter")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/picklock/picklock/internal/testkit/chatter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build chatter: %v: %s", err, out)
	}
	return path
}
