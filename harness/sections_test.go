package harness_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/internal/testkit"
)

// shortLived writes the example of a Redis lock with one change: its key lives for
// part of the lease that it promises.
func shortLived(t *testing.T, part string) string {
	t.Helper()
	testkit.NeedProgram(t, "python3", "apt-get install python3")
	program, err := os.ReadFile("../docs/examples/redis_lock.py")
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(program), `"PX", ttl)`, `"PX", int(ttl * `+part+`))`, 1)
	if changed == string(program) {
		t.Fatal("the example has no key that lives for ttl")
	}
	path := filepath.Join(t.TempDir(), "lock.py")
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return "exec:python3 " + path
}

// A lock whose key lives for 60 % of what it promises shows itself only to a section
// that is longer than that.
func TestAKeyThatLivesTooShortIsFound(t *testing.T) {
	need(t, "redis")
	for seed := range 5 {
		for part, want := range map[string]checker.Validity{"0.6": checker.False, "1": checker.True} {
			t.Run(fmt.Sprintf("%s of the lease, seed %d", part, seed+1), func(t *testing.T) {
				t.Parallel()
				o := picklock(t, "--lock", shortLived(t, part), "--cluster", "redis", "--time-limit", "12s", "--seed", fmt.Sprint(seed+1))
				if o.verdict.Valid != want || anomalies(o.verdict)["granted-early"] > 0 != (want == checker.False) {
					t.Errorf("valid %v, want %v: %d grants, %v", o.verdict.Valid, want, o.verdict.Stats.Grants, anomalies(o.verdict))
				}
			})
		}
	}
}

// A section longer than the lease is the user's wish, and no break of the lock's own.
func TestASectionLongerThanTheLease(t *testing.T) {
	need(t, "redis")
	dir := t.TempDir()
	out, err := exec.Command(program, "run", "--lock", "redis", "--hold", "1500ms", "--time-limit", "8s", "--out", filepath.Join(dir, "run")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the section was longer than the lease") || strings.Contains(string(out), "without any fault") {
		t.Errorf("%v: %s", err, out)
	}
}

// An explicit --hold is how long every section lasts; the run's command says the same
// again.
func TestHoldIsKept(t *testing.T) {
	for hold, flag := range map[time.Duration]bool{0: false, 50 * time.Millisecond: true} {
		o := harness.Defaults()
		o.Hold = hold
		if got := strings.Contains(strings.Join(o.Command(), " "), "--hold"); got != flag {
			t.Errorf("hold %v: %v", hold, o.Command())
		}
	}
}
