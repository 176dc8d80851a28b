// Package testkit is what the tests of several packages ask of a machine: its programs,
// and the picklock program itself. Only tests import it.
package testkit

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// RequireEnv names, separated by commas, what this machine has: a test that finds it
// missing all the same fails instead of being left out. CI sets it, so that no test is
// left out in silence. "all" stands for everything.
const RequireEnv = "PICKLOCK_TEST_REQUIRE"

// Need leaves a test out because of err, which says what this machine lacks; it fails
// instead where what is required of this machine (RequireEnv). nil: nothing is missing.
func Need(t testing.TB, what string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case required(what):
		t.Fatalf("%s is required here (%s) and missing: %v", what, RequireEnv, err)
	default:
		t.Skipf("left out, %s is missing: %v", what, err)
	}
}

func required(what string) bool {
	list := strings.Split(os.Getenv(RequireEnv), ",")
	return slices.Contains(list, what) || slices.Contains(list, "all")
}

// NeedProgram is Need of a program on PATH that a Debian package brings.
func NeedProgram(t testing.TB, program, install string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		Need(t, program, missing{program, install})
	}
}

type missing struct{ program, install string }

func (m missing) Error() string {
	return m.program + " is not installed: " + m.install
}
