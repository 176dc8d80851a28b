package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/internal/testkit"
)

// junitJar is Debian's: the package junit5.
const junitJar = "/usr/share/java/junit-platform-console-standalone.jar"

// runner is a test runner of other people, and docs/examples has a project with its helper.
type runner struct {
	folder   string
	command  func(t *testing.T) []string // runs tests in the project's folder: some of these
	project  string                      // all of the project's own
	release  string                      // the one of what is released
	mistaken string                      // tests with mistakes in them
	mistakes []string                    // their files in testdata/helpers
	file     string                      // the file in testdata/helpers of a test that runs own.yaml
	filed    string                      // that test
	fake     string                      // another, with a lock on nothing
	passed   string                      // what it says where all of the project's tests pass
	one      string                      // what it says where one test passes
	skipped  string                      // and where there is no picklock
	failed   []string                    // what it says of the tests with mistakes
}

var runners = map[string]runner{
	"pytest": {
		folder: "pytest",
		command: func(t *testing.T) []string {
			return []string{pytest(t), "-m", "pytest", "-rfEs", "-p", "no:cacheprovider"}
		},
		project:  "test_redis_lock.py",
		release:  "test_redis_lock.py::test_releases_only_its_own",
		mistaken: "test_mistakes.py",
		mistakes: []string{"test_mistakes.py"},
		file:     "test_file.py",
		filed:    "test_file.py",
		fake:     "fake_lock.py",
		passed:   "5 passed in ",
		one:      "1 passed in ",
		skipped:  "5 skipped in ",
		failed: []string{
			"6 failed, 2 passed, 1 error in ",
			"ERROR test_mistakes.py::test_unasked - AssertionError: nobody asked what came of picklock run",
			"FAILED test_mistakes.py::test_cannot - RuntimeError: ",
			"<lambda> at 0x", "has to be a class or a function of a module",
		},
	},
	"junit": {
		folder: "junit",
		command: func(t *testing.T) []string {
			testkit.NeedProgram(t, "java", "default-jre-headless")
			_, err := os.Stat(junitJar)
			testkit.Need(t, "junit5", err)
			return []string{"sh", "run.sh"}
		},
		project:  "--select-class=RedisLockTest",
		release:  "--select-method=RedisLockTest#releasesOnlyItsOwn(Picklock)",
		mistaken: "--select-class=MistakesTest",
		mistakes: []string{"MistakesTest.java"},
		file:     "FileTest.java",
		filed:    "--select-class=FileTest",
		fake:     "FakeLock.java",
		passed:   "5 tests successful ",
		one:      "1 tests successful ",
		skipped:  "5 tests skipped ",
		failed: []string{
			"1 tests successful ", "6 tests failed ",
			"nobody asked what came of picklock run:",
		},
	},
	"node:test": {
		folder: "node-test",
		command: func(t *testing.T) []string {
			testkit.NeedProgram(t, "node", "nodejs")
			return []string{"node", "--test", "--test-reporter=tap"}
		},
		project:  "redis-lock.test.mjs",
		release:  "--test-name-pattern=releases only its own",
		mistaken: "mistakes.test.mjs",
		mistakes: []string{"mistakes.test.mjs", "noisy.mjs"},
		file:     "file.test.mjs",
		filed:    "file.test.mjs",
		fake:     "fake-lock.mjs",
		passed:   "# pass 5\n",
		one:      "# pass 1\n",
		skipped:  "# skipped 5\n",
		failed: []string{
			"# pass 1\n", "# fail 7\n",
			"not ok 5 - unasked", "not ok 6 - not awaited",
			"nobody asked what came of picklock run: say await",
		},
	},
}

// TestHelpers: the helpers of docs/examples do in their own test runners what they say.
func TestHelpers(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	testkit.NeedProgram(t, "redis-server", "redis-server")
	program, remove, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	for name, r := range runners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.command(t) // says here what this machine lacks
			t.Run("the project passes", func(t *testing.T) {
				said, kept := r.prove(t, r.copied(t), r.project, program)
				wants(t, said, r.passed)
				if len(kept) > 0 {
					t.Errorf("records of tests that passed are kept: %q", kept)
				}
			})
			t.Run("a broken lock fails", func(t *testing.T) {
				dir := r.copied(t)
				releaseAnybodys(t, dir)
				said, kept := r.prove(t, dir, r.release, program)
				wants(t, said, "scenario run del-without-owner: it broke: ", ", wrong-release. The lock was to hold.")
				if i := slices.IndexFunc(kept, func(report string) bool { return strings.Contains(said, report) }); i < 0 {
					t.Errorf("what it says names none of the reports that are kept: %q\n%s", kept, said)
				}
			})
			t.Run("a scenario of the project", func(t *testing.T) {
				dir := r.copied(t)
				for _, name := range []string{r.file, "own.yaml"} {
					copyFile(t, filepath.Join("testdata/helpers", name), filepath.Join(dir, name))
				}
				said, _ := r.prove(t, dir, r.filed, program)
				wants(t, said, r.one)
			})
			t.Run("mistakes fail", func(t *testing.T) {
				dir := r.copied(t)
				for _, name := range r.mistakes {
					copyFile(t, filepath.Join("testdata/helpers", name), filepath.Join(dir, name))
				}
				said, _ := r.run(t, dir, r.mistaken, "PICKLOCK="+program)
				wants(t, said, r.failed...)
				wants(t, said,
					"wrong      token ", "1 of 26 are wrong",
					"wrong      watchdog ", "another client was granted what it held",
					"run: nothing was proved. The lock was to hold.",
					"run could not run (254):", `unknown cluster "nowhere"`,
					"it broke: lost-update, stale-write, two-holders. The lock was to break with token-reuse.")
			})
			t.Run("without picklock", func(t *testing.T) {
				dir := r.copied(t)
				const missing = "go install github.com/picklock/picklock/cmd/picklock@latest"
				said, _ := r.run(t, dir, r.project, "PICKLOCK=", "CI=")
				wants(t, said, r.skipped, missing)
				said, _ = r.run(t, dir, r.project, "PICKLOCK=", "CI=true")
				wants(t, said, missing)
				if strings.Contains(said, r.skipped) || strings.Contains(said, r.passed) {
					t.Errorf("CI did without picklock:\n%s", said)
				}
			})
		})
	}
}

// copied is a copy of the runner's project.
func (r runner) copied(t *testing.T) string {
	t.Helper()
	from, dir := filepath.Join("../../docs/examples", r.folder), t.TempDir()
	files, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Type().IsRegular() {
			copyFile(t, filepath.Join(from, f.Name()), filepath.Join(dir, f.Name()))
		}
	}
	return dir
}

// prove is run, again where this machine was too busy to prove anything.
func (r runner) prove(t *testing.T, dir, tests, program string) (said string, kept []string) {
	t.Helper()
	for range 3 {
		said, kept = r.run(t, dir, tests, "PICKLOCK="+program)
		if !strings.Contains(said, "nothing was proved") {
			break
		}
		t.Logf("once more:\n%s", said)
	}
	return said, kept
}

// run returns what the runner says of these tests in dir, and the reports that are kept.
func (r runner) run(t *testing.T, dir, tests string, env ...string) (said string, kept []string) {
	t.Helper()
	words, out := append(r.command(t), tests), t.TempDir()
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = dir
	// Without what the machine's own picklock would be found by.
	cmd.Env = append(os.Environ(), "PATH=/usr/local/bin:/usr/bin:/bin", "PICKLOCK_OUT="+out, "COLUMNS=500")
	for _, e := range env {
		if name, value, _ := strings.Cut(e, "="); value == "" {
			cmd.Env = slices.DeleteFunc(cmd.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		} else {
			cmd.Env = append(cmd.Env, e)
		}
	}
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	kept, err = filepath.Glob(filepath.Join(out, "picklock-*", "run", "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), kept
}

func wants(t *testing.T, said string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
}

// releaseAnybodys has the project's lock release without a look at the owner.
func releaseAnybodys(t *testing.T, dir string) {
	t.Helper()
	owner := regexp.MustCompile(`if redis\.call\(.get.,KEYS\[1\]\)==ARGV\[1\] then (return redis\.call\(.del.,KEYS\[1\]\)) else return 0 end`)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed += len(owner.FindAll(text, -1))
		if err := os.WriteFile(path, owner.ReplaceAll(text, []byte("$1")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if changed != 1 {
		t.Fatalf("%d places that compare the owner at a release, want 1", changed)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// pytest returns a Python that has pytest and redis-py: the first on PATH, or Debian's own.
func pytest(t *testing.T) string {
	t.Helper()
	var missing error
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		out, err := exec.CommandContext(t.Context(), python, "-c", "import pytest, redis, sys; print(sys.executable)").CombinedOutput()
		if err == nil {
			return strings.TrimSpace(string(out))
		}
		missing = errors.New("apt install python3-pytest python3-redis (" + strings.TrimSpace(string(out)) + ")")
	}
	testkit.Need(t, "pytest", missing)
	return ""
}
