//go:build linux

package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/internal/testkit"
)

// inLine has B wait while A holds: it may give up only if the service has answered B after A acted.
const inLine = `name: in-line
about: B waits while A holds.
locks: [rueidislock, redis, "*"]
clients:
  A: acquire, await B waiting or 300ms, read, write, await after B's read or 300ms, release
  B: await A granted, acquire, read, write, release
expect: {"*": valid}
`

// Into a service that runs already picklock cannot look: a wait for what may not come ends with its
// answers, and where there is none the run is unknown and says why. The same lock on servers of
// picklock's own passes.
func TestEndpointWaits(t *testing.T) {
	t.Parallel()
	addr, _ := redisOutside(t)
	file := filepath.Join(t.TempDir(), "in-line.yaml")
	if err := os.WriteFile(file, []byte(inLine), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs("../docs/examples/redis_lock.py")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"it tells of refusals":              {[]string{"--lock", "redis", "--endpoint", addr}, 0, "pass, as expected"},
		"it is answered":                    {[]string{"--lock", "exec:python3 " + program, "--endpoint", addr}, 0, "pass, as expected"},
		"it waits in line":                  {[]string{"--lock", "rueidislock", "--endpoint", addr}, 2, "picklock cannot look into a service that it has not started (" + addr + "), which has not answered B since"},
		"it waits in line of an own server": {[]string{"--lock", "rueidislock"}, 0, "pass, as expected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(strings.Join(tt.args, " "), "python3") {
				testkit.NeedProgram(t, "python3", "apt-get install python3")
			}
			args := append([]string{"scenario", "run", file, "--out", filepath.Join(t.TempDir(), "run")}, tt.args...)
			if stdout, stderr, code := command(t, args...); code != tt.code || !strings.Contains(stdout, tt.says) {
				t.Errorf("exit %d, want %d and %q\n%s%s", code, tt.code, tt.says, stdout, stderr)
			}
		})
	}
}
