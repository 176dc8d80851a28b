package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/testkit"
)

// The scripts run a real binary: it starts itself again as worker and register,
// which a test binary under another name could not.
func TestScripts(t *testing.T) {
	path, remove, err := testkit.Program()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove) // the scripts run beside each other, after this function has returned
	bin := filepath.Dir(path)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			example, err := os.ReadFile("../../docs/examples/redis_lock.py")
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(e.WorkDir, "redis_lock.py"), example, 0o600); err != nil {
				return err
			}
			// For scripts that start a server.
			e.Setenv("FREE_PORT", testkit.FreePort(t))
			// For scripts that compile; there is no home to keep it in.
			if cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output(); err == nil {
				e.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
			}
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			return nil
		},
		// A condition is the name of a cluster: can its servers be started here?
		Condition: func(cond string) (bool, error) {
			def, err := compose.Load(t.Context(), cond)
			if err != nil {
				return false, fmt.Errorf("condition %q: %w", cond, err)
			}
			return !slices.ContainsFunc(def.Servers(), func(s compose.Service) bool { return s.Spec.Local.Missing() != nil }), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": wantCode},
	})
}

// wantCode runs a command that must end with the given exit code: code 254 picklock ...
func wantCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [argument...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		var exit *exec.ExitError
		if !asExit(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}
