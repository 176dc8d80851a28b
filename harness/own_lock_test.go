package harness_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// ownLock is testdata/redis_lock.py with a mistake, as a user would name it.
func ownLock(t *testing.T, mistake string) string {
	t.Helper()
	need(t, "redis")
	testkit.NeedProgram(t, "python3", "apt-get install python3")
	path, err := filepath.Abs("testdata/redis_lock.py")
	if err != nil {
		t.Fatal(err)
	}
	return "exec:python3 '" + path + "' " + mistake
}

// ownMatrix plays on a lock what suits it, with no option besides its cluster.
func ownMatrix(t *testing.T, lock string, more ...string) (results.Matrix, string, int) {
	t.Helper()
	stdout, stderr, code := command(t, append([]string{"matrix", "--locks", lock, "--cluster", "redis", "--json", "--out", filepath.Join(t.TempDir(), "m")}, more...)...)
	var m results.Matrix
	if err := json.Unmarshal([]byte(stdout), &m); err != nil {
		t.Fatalf("exit %d: %v\n%s", code, err, stderr)
	}
	return m, stderr, code
}

// TestOwnLockWithAMistake: four recipes that people copy, each found in a program that
// picklock knows nothing of.
func TestOwnLockWithAMistake(t *testing.T) {
	for mistake, want := range map[string]struct {
		scenarios []string // in which it must be found
		anomaly   string
	}{
		"check-then-set":    {[]string{"contended", "race-for-lock", "late-grant"}, "granted-early"},
		"del-without-owner": {[]string{"del-without-owner", "sleeping-release"}, "wrong-release"},
		"setnx-no-ttl":      {[]string{"holder-crashes"}, "deadlock"},
		"incr-then-set":     {[]string{"contended", "incr-then-set"}, "token-regression"},
	} {
		t.Run(mistake, func(t *testing.T) {
			t.Parallel()
			m, _, code := ownMatrix(t, ownLock(t, mistake), "--scenarios", strings.Join(want.scenarios, ","))
			if code != 1 || len(m.Cells) != len(want.scenarios) {
				t.Errorf("exit code %d, %d cells", code, len(m.Cells))
			}
			for _, c := range m.Cells {
				if c.Met != checker.False || c.Found[want.anomaly] == 0 {
					t.Errorf("%s: %v, found %v; want %s; %s%s", c.Scenario, c.Met, c.Found, want.anomaly, c.Why, c.LeftOut)
				}
			}
		})
	}
}

// TestOwnLockThatIsRight: its twins are as expected in all of the catalogue that any lock
// is put through. PICKLOCK_TWIN_RUNS is how often each cell is played.
func TestOwnLockThatIsRight(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes two minutes")
	}
	runs, _ := strconv.Atoi(os.Getenv("PICKLOCK_TWIN_RUNS"))
	for twin, leftOut := range map[string][]string{
		"none":   {"incr-then-set", "late-renewal", "renewal-after-release", "token-in-process"},
		"tokens": {"late-renewal", "renewal-after-release"},
	} {
		t.Run(twin, func(t *testing.T) {
			t.Parallel()
			m, _, code := ownMatrix(t, ownLock(t, twin), "--runs", fmt.Sprint(max(1, runs)))
			var left []string
			for _, c := range m.Cells {
				switch c.State() {
				case results.LeftOut:
					left = append(left, c.Scenario)
				case results.Holds:
				case results.Expected:
					// What no lease can hold without fencing.
					if !slices.Contains([]string{"pause-holder", "delayed-write", "writes-only-tokens", "orphan-write", "cut-off-holder"}, c.Scenario) {
						t.Errorf("%s broke: %s", c.Scenario, c.Sentence)
					}
				default:
					t.Errorf("%s: %s: %s", c.Scenario, c.State(), c.Why)
				}
			}
			if code != 0 || len(m.Cells) < 20 || !slices.Equal(left, leftOut) {
				t.Errorf("exit code %d, %d cells, left out %v, want %v", code, len(m.Cells), left, leftOut)
			}
		})
	}
}

// TestOwnLockWithoutServers: what is done to servers is left out where there are none.
func TestOwnLockWithoutServers(t *testing.T) {
	_, stderr, code := command(t, "scenario", "run", "late-grant", "--lock", "exec:true", "--cluster", "none")
	if code != 254 || !strings.Contains(stderr, "does something to the lock's servers") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	all, err := scenarios.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if want := slices.Contains([]string{"late-grant", "race-for-lock", "cut-off-holder", "waiter-cut-off"}, s.Name); want && !s.NeedsServers() {
			t.Errorf("%s needs no servers", s.Name)
		}
		if slices.Contains([]string{"pause-holder", "delayed-write", "contended", "holder-crashes"}, s.Name) && s.NeedsServers() {
			t.Errorf("%s needs servers", s.Name)
		}
	}
}
