package harness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

func openTestbed(t *testing.T, c harness.TestbedConfig) *harness.RemoteTestbed {
	t.Helper()
	c.Clients, c.Runtime, c.Dir = []string{"A", "B", "C"}, "local", t.TempDir()
	c.Settings.Clients, c.Settings.Keys, c.Settings.Limit, c.Settings.Fencing = 3, 1, time.Minute, "none"
	l, err := harness.StartTestbed(t.Context(), program, filepath.Join(t.TempDir(), "log"), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func schedule(t *testing.T, lock, fault string) *scenarios.Scenario {
	t.Helper()
	text := fmt.Sprintf(`name: x
about: x
locks: [%q]
ttl: 400ms
clients:
  A: acquire, read, work 0.2 leases, write, release
  B: await A granted, acquire, read, work 0.2 leases, write, release
  C: await B granted, acquire, read, write, release
`, lock)
	if fault != "" {
		text += "faults:\n- " + fault + "\n"
	}
	s, err := scenarios.Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What a schedule shows beside others, on one cluster, is what it shows alone, and no fault reaches the
// clients of another.
func TestTestbedSets(t *testing.T) {
	need(t, "redis")
	const beside = 6
	l := openTestbed(t, harness.TestbedConfig{Settings: workloads.Settings{Lock: "redis", TTL: 400 * time.Millisecond}, Sets: beside})
	faults := map[string]checker.Validity{
		"": checker.True,
		"{when: before A's write, pause: A, until: after B's write or 3 leases}":            checker.False,
		"{when: before A's write, hold: A to register, until: after B's write or 3 leases}": checker.False,
		"{when: before A's write, kill: A, until: B granted or 3 leases}":                   checker.True,
		"{when: before B's acquire, 'cut': B from servers, until: 1.6 leases}":              checker.True,
		"{when: before A's acquire, hold: servers to A, until: 0.3 leases}":                 checker.True,
		"{when: B waiting, 'reset': B to servers}":                                          checker.True,
		"{when: before A's release, pause: servers, until: 0.6 leases}":                     checker.True, // alone
	}
	type shown struct {
		fault string
		r     *harness.RunResult
		err   error
	}
	const times = 3
	all := make(chan shown, times*len(faults))
	var running sync.WaitGroup
	places := make(chan struct{}, beside)
	for range times {
		for fault := range faults {
			s := schedule(t, "redis", fault)
			running.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				r, err := l.Run(t.Context(), s)
				for range 10 {
					if err != nil || !r.Busy {
						break
					}
					r, err = l.Run(t.Context(), s)
				}
				all <- shown{fault, r, err}
			})
		}
	}
	running.Wait()
	close(all)
	for x := range all {
		if x.err != nil {
			t.Errorf("%s: %v", x.fault, x.err)
			continue
		}
		if x.r.Discarded != "" {
			t.Logf("%s: discarded: %s", x.fault, x.r.Discarded)
			continue
		}
		// One whose fault kept the others from contending is unknown, which is no failure either.
		if got, want := x.r.Verdict.Valid, faults[x.fault]; got != want && (got != checker.Unknown || want != checker.True) {
			t.Errorf("%s: %v (%s), want %v: %+v\n%+v", x.fault, x.r.Verdict.Valid, x.r.Verdict.Why, faults[x.fault], x.r.Verdict.Anomalies, x.r.Events)
		}
		for _, e := range x.r.Events {
			for _, n := range e.Nodes {
				if n != "A" && n != "B" && n != "C" && n != "redis" && n != "register" {
					t.Errorf("%s: a fault of %s", x.fault, n)
				}
			}
		}
	}
	if n := l.Starts(); n != 1 {
		t.Errorf("%d starts", n)
	}
}

// keyless has one lock, whatever the key.
const keyless = `import json, os, sys, time
path = sys.argv[1]
mine = False
for line in sys.stdin:
    r = json.loads(line)
    a = {"id": r["id"], "ok": True}
    if r["op"] == "acquire":
        until = time.time() + r["timeout_ms"] / 1000
        while True:
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL)); mine = True
                break
            except FileExistsError:
                if time.time() > until:
                    a = {"id": r["id"], "ok": False, "error": "taken", "definite": True}
                    break
                time.sleep(0.005)
    if r["op"] in ("release", "close") and mine:
        os.remove(path); mine = False
    print(json.dumps(a), flush=True)
    if r["op"] == "close": break
`

// A lock whose keys are one lock has its runs one after the other: beside each other they would wait
// for each other's clients.
func TestTestbedKeyless(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock.py")
	if err := os.WriteFile(path, []byte(keyless), 0o600); err != nil {
		t.Fatal(err)
	}
	lock := "exec:python3 " + path + " " + filepath.Join(dir, "held")
	l := openTestbed(t, harness.TestbedConfig{Settings: workloads.Settings{Lock: lock, Cluster: "none", TTL: 400 * time.Millisecond}, Sets: 4})
	if _, err := l.Run(t.Context(), schedule(t, lock, "")); err != nil {
		t.Fatal(err)
	}
	var together atomic.Int64
	var running sync.WaitGroup
	began := time.Now()
	for range 4 {
		s := schedule(t, lock, "")
		running.Go(func() {
			r, err := l.Run(t.Context(), s)
			if err != nil || r.Verdict.Valid == checker.False {
				t.Errorf("%v, %v", r, err)
				return
			}
			together.Add(int64(r.Took))
		})
	}
	running.Wait()
	if took := time.Since(began); time.Duration(together.Load()) > took {
		t.Errorf("runs of %v together were over after %v: they went side by side", time.Duration(together.Load()), took)
	}
}
