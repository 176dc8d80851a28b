package harness_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// A run on a testbed has two keys, of which the first begins the second, and both are judged.
func TestTestbedKeys(t *testing.T) {
	need(t, "redis")
	l := openTestbed(t, harness.TestbedConfig{Settings: workloads.Settings{Lock: "redis", TTL: time.Second}, Sets: 1})
	s, err := scenarios.Parse("x.yaml", []byte(`name: x
about: x
locks: [redis]
ttl: 1s
clients:
  A: acquire, read, await after B's write or 5s, write, release, acquire key 2, read, write, release
  B: await A granted, acquire key 2, read, write, await C waiting or 1s, release
  C: await A granted, acquire, read, write, release
`))
	if err != nil {
		t.Fatal(err)
	}
	var r *harness.RunResult
	for range 10 {
		if r, err = l.Run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if !r.Busy {
			break
		}
	}
	if r.Discarded != "" || r.Verdict.Valid != checker.True || r.Run.Keys != 2 {
		t.Fatalf("%v: %s %s, %d keys\n%+v", r.Verdict.Valid, r.Verdict.Why, r.Discarded, r.Run.Keys, r.Verdict.Anomalies)
	}
	both := func(keys map[string]int) bool {
		names := slices.Sorted(maps.Keys(keys))
		return len(names) == 2 && names[1] == workloads.SecondKey(names[0])
	}
	grants, writes := map[string]int{}, map[string]int{}
	for _, e := range r.Events {
		if e.F == history.Acquire && e.Type == history.OK {
			grants[e.Key]++
		}
	}
	for i, e := range r.Effects {
		if e.F == history.Write {
			writes[e.Key]++
		}
		if i > 0 && e.Time < r.Effects[i-1].Time {
			t.Errorf("effect %d is before the one before it", i)
		}
	}
	if !both(grants) || !both(writes) || !maps.Equal(grants, writes) {
		t.Errorf("grants %v, writes %v", grants, writes)
	}
}

// A scenario of two keys is run on a register that has to be told its keys beforehand, too, and says how many there were.
func TestScenarioKeys(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	file := filepath.Join(t.TempDir(), "two.yaml")
	if err := os.WriteFile(file, []byte(`name: two
about: A and B each have a lock of their own at once, and C waits for the second one
locks: ["*"]
ttl: 1s
clients:
  A: acquire, read, await after B's write or 5s, write, release
  B: await A granted, acquire key 2, read, await C waiting or 500ms, write, release
  C: await B granted, acquire key 2, read, write, release
expect:
  "*": valid
`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, register := range []string{"builtin", "redis"} {
		dir := filepath.Join(t.TempDir(), "run")
		_, stderr, code := command(t, "scenario", "run", file, "--lock", "redis-lua", "--register", register, "--json", "--out", dir)
		l, err := results.Open(dir)
		if err != nil {
			t.Fatalf("%s: exit %d: %v\n%s", register, code, err, stderr)
		}
		if code != 0 || l.Verdict.Valid != checker.True || l.Run.Keys != 2 {
			t.Errorf("%s: exit %d, %v (%s), %d keys\n%s", register, code, l.Verdict.Valid, l.Verdict.Why, l.Run.Keys, stderr)
		}
	}
}
