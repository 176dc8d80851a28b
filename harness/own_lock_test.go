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

// ownLock is the example of a Redis lock with changes, each a text and what stands in its
// place, as a user would name it.
func ownLock(t *testing.T, changes ...string) string {
	t.Helper()
	need(t, "redis")
	testkit.NeedProgram(t, "python3", "apt-get install python3")
	text, err := os.ReadFile("../docs/examples/redis_lock.py")
	if err != nil {
		t.Fatal(err)
	}
	program := string(text)
	for i := 0; i < len(changes); i += 2 {
		if strings.Count(program, changes[i]) != 1 {
			t.Fatalf("the example does not have one %q", changes[i])
		}
		program = strings.Replace(program, changes[i], changes[i+1], 1)
	}
	path := filepath.Join(t.TempDir(), "lock.py")
	if err := os.WriteFile(path, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	return "exec:python3 '" + path + "'"
}

// What the example's acquire and release consist of.
const (
	begins  = "    end, value = "
	takes   = `command("SET", key, value, "NX", "PX", ttl) == "OK"`
	granted = `"since_ns": since}`
	deletes = `command("EVAL", RELEASE, 1, key, held[key]) == "1"`
)

// withTokens has the script that takes the lock draw a fencing token.
var withTokens = []string{
	takes, `(token := command("EVAL", 'if redis.call("set",KEYS[1],ARGV[1],"NX","PX",ARGV[2]) then return redis.call("incr",KEYS[2]) else return 0 end', 2, key, key + ":token", value, ttl)) != "0"`,
	granted, `"since_ns": since, "token": int(token)}`,
}

// ownMatrix runs on a lock what suits it, with no option besides its cluster.
func ownMatrix(t *testing.T, lock string, more ...string) (results.Matrix, string, int) {
	t.Helper()
	stdout, stderr, code := command(t, append([]string{"scenario", "run", "--lock", lock, "--cluster", "redis", "--jobs", "4", "--json", "--out", filepath.Join(t.TempDir(), "m")}, more...)...)
	var m results.Matrix
	if err := json.Unmarshal([]byte(stdout), &m); err != nil {
		t.Fatalf("exit %d: %v\n%s", code, err, stderr)
	}
	return m, stderr, code
}

// TestOwnLockWithAMistake: recipes that people copy, each found in a program that picklock
// knows nothing of, by scenarios that no bug of the seeded bugs is shown by.
func TestOwnLockWithAMistake(t *testing.T) {
	t.Parallel()
	for mistake, want := range map[string]struct {
		changes   []string
		scenarios []string // in which it must be found
		anomaly   string
	}{
		"check-then-set": {[]string{takes, `command("EXISTS", key) == "0" and command("SET", key, value, "PX", ttl) == "OK"`},
			[]string{"contended", "late-grant"}, "granted-early"},
		"del-without-owner": {[]string{deletes, `command("DEL", key) is not None`},
			[]string{"del-without-owner"}, "wrong-release"},
		"incr-then-set": {[]string{begins, `    token = int(command("INCR", key + ":token"))` + "\n" + begins, granted, `"since_ns": since, "token": token}`},
			[]string{"incr-then-set"}, "token-regression"},
	} {
		t.Run(mistake, func(t *testing.T) {
			t.Parallel()
			m, _, code := ownMatrix(t, ownLock(t, want.changes...), want.scenarios...)
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

// TestOwnLockThatIsRight: with tokens it is as expected in all of the catalogue that any
// lock is put through; without, what is about tokens is left out besides.
// PICKLOCK_TWIN_RUNS is how often each cell is run.
func TestOwnLockThatIsRight(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	runs, _ := strconv.Atoi(os.Getenv("PICKLOCK_TWIN_RUNS"))
	for name, x := range map[string]struct {
		changes, flags, leftOut []string
		cells                   int // at least
	}{
		"with tokens": {withTokens, []string{"--all"}, []string{"late-renewal", "renewal-after-release"}, 20},
		"without": {nil, []string{"pause-holder", "incr-then-set", "late-renewal", "renewal-after-release", "token-in-process", "writes-only-tokens"},
			[]string{"incr-then-set", "late-renewal", "renewal-after-release", "token-in-process"}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _, code := ownMatrix(t, ownLock(t, x.changes...), append(x.flags, "--count", fmt.Sprint(max(1, runs)))...)
			var left []string
			busy := 0
			for _, c := range m.Cells {
				if strings.Contains(c.Why, "this machine is too busy") { // which says nothing of the lock: once more, alone
					busy++
					if again, _, code := ownMatrix(t, ownLock(t, x.changes...), c.Scenario); code != 0 {
						t.Errorf("%s: exit code %d alone, too: %+v", c.Scenario, code, again.Cells)
					}
					continue
				}
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
			if code != 0 && busy == 0 || len(m.Cells) < x.cells || !slices.Equal(left, x.leftOut) {
				t.Errorf("exit code %d, %d cells, left out %v, want %v", code, len(m.Cells), left, x.leftOut)
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
		if slices.Contains([]string{"pause-holder", "delayed-write", "orphan-write", "contended", "holder-crashes"}, s.Name) && s.NeedsServers() {
			t.Errorf("%s needs servers", s.Name)
		}
	}
}
