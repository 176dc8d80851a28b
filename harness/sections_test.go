package harness_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/harness"
)

// shortLived is the example of a Redis lock whose key lives for part of the lease that it
// promises.
func shortLived(t *testing.T, part string) string {
	t.Helper()
	return ownLock(t, `"PX", ttl)`, `"PX", int(ttl * `+part+`))`)
}

// A lock whose key lives for 60 % of what it promises shows itself only to a section
// that is longer than that.
func TestAKeyThatLivesTooShortIsFound(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	for _, x := range []struct {
		part string
		seed int
		want checker.Validity
	}{{"0.6", 1, checker.False}, {"0.6", 2, checker.False}, {"0.6", 3, checker.False}, {"1", 1, checker.True}} {
		t.Run(fmt.Sprintf("%s of the lease, seed %d", x.part, x.seed), func(t *testing.T) {
			t.Parallel()
			o := picklock(t, "--lock", shortLived(t, x.part), "--cluster", "redis", "--duration", "12s", "--seed", fmt.Sprint(x.seed))
			if o.verdict.Valid != x.want || anomalies(o.verdict)["granted-early"] > 0 != (x.want == checker.False) {
				t.Errorf("valid %v, want %v: %d grants, %v", o.verdict.Valid, x.want, o.verdict.Stats.Grants, anomalies(o.verdict))
			}
		})
	}
}

// A section longer than the lease is the user's wish, and no break of the lock's own.
func TestASectionLongerThanTheLease(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	dir := t.TempDir()
	out, err := exec.Command(program, "run", "--lock", "redis", "--work-time", "1500ms", "--duration", "8s", "--out", filepath.Join(dir, "run")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the section was longer than the lease") || strings.Contains(string(out), "without any fault") {
		t.Errorf("%v: %s", err, out)
	}
}

// An explicit --work-time is how long every section lasts; the run's command says the same
// again.
func TestHoldIsKept(t *testing.T) {
	for hold, flag := range map[time.Duration]bool{0: false, 50 * time.Millisecond: true} {
		o := harness.Defaults()
		o.WorkTime = hold
		if got := strings.Contains(strings.Join(o.Command(), " "), "--work-time"); got != flag {
			t.Errorf("hold %v: %v", hold, o.Command())
		}
	}
}
