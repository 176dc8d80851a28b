package locktest_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/picklock/picklock/locktest"
)

// sample makes a module of the test that docs/quickstarts/go.md prints, and of the lock that
// it tests. plant replaces a line of the lock.
func sample(t *testing.T, plant func(string) string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	code := regexp.MustCompile("(?s)```go\n(package mylock_test\n.*?)```").FindStringSubmatch(read("docs/quickstarts/go.md"))
	if code == nil {
		t.Fatal("docs/quickstarts/go.md has no test to print")
	}
	mod := strings.Replace(read("go.mod"), "module github.com/picklock/picklock", "module example.com/mylock", 1) +
		"\nrequire github.com/picklock/picklock v0.0.0\nreplace github.com/picklock/picklock => " + root + "\n"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": mod, "go.sum": read("go.sum"), "mylock.go": plant(read("locktest/testdata/mylock/mylock.go")), "mylock_test.go": code[1],
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goTest runs the sample's tests; "" as which runs all.
func goTest(t *testing.T, dir, which string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-mod=mod", "-count=1", "-v", "-run", "TestMyLock"+which, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestSampleInDocs: the test as it is printed passes on a lock without a mistake, and
// fails on one that releases without looking at the owner. TestRedisHolds runs the rest
// of the catalogue.
func TestSampleInDocs(t *testing.T) {
	if locktest.Child() {
		t.Skip("a part of another test")
	}
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	needRedis(t)
	t.Run("correct", func(t *testing.T) {
		out, code := goTest(t, sample(t, func(lock string) string { return lock }), "/(del-without-owner|sleeping-release|contended|holder-crashes|run)$")
		passed := strings.Count(out, "    --- PASS: TestMyLock/")
		if code != 0 || passed < 5 || !strings.Contains(out, "--- PASS: TestMyLock/del-without-owner") || !strings.Contains(out, "--- PASS: TestMyLock/run") {
			t.Errorf("exit code %d, %d passed\n%s", code, passed, out)
		}
	})
	t.Run("planted", func(t *testing.T) {
		const right, wrong = `release.Run(ctx, l.db, []string{g.Key}, g.Ref).Int64()`, `l.db.Del(ctx, g.Key).Result()`
		dir := sample(t, func(lock string) string {
			if !strings.Contains(lock, right) {
				t.Fatal("nowhere to plant the mistake")
			}
			return strings.Replace(lock, right, wrong, 1) + "\nvar _ = release\n"
		})
		out, code := goTest(t, dir, "/(del-without-owner|sleeping-release)")
		for _, s := range []string{"--- FAIL: TestMyLock/del-without-owner", "--- FAIL: TestMyLock/sleeping-release", "granted-early: C was granted the lock"} {
			if code != 1 || !strings.Contains(out, s) {
				t.Errorf("exit code %d, or it does not say %q\n%s", code, s, out)
			}
		}
	})
}
