package harness_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/results"
)

// kindsLock is an exec lock on Redis, in Python, which is of the kind that its arguments say.
func kindsLock(t *testing.T) string {
	t.Helper()
	need(t, "redis")
	testkit.NeedProgram(t, "python3", "apt-get install python3")
	path, err := filepath.Abs("testdata/kinds_lock.py")
	if err != nil {
		t.Fatal(err)
	}
	return "exec:python3 '" + path + "'"
}

// TestExecKinds: a program in another language that is a lock of each kind is tested as
// that kind. It is found right, and with one mistake it is found wrong.
func TestExecKinds(t *testing.T) {
	t.Parallel()
	program := kindsLock(t)
	for kind, tc := range map[string]struct {
		flags   string // of the run
		kind    string // in run.json
		permits int
		event   string // that the history of the right one has
		proof   string // words of one that convicts the wrong one
	}{
		// Its sections are longer than the lease, which its watchdog keeps alive.
		"watchdog":  {flags: "--work-time 1500ms --clients 3", event: `"type":"ok","f":"renew"`, proof: "certainly had"},
		"rw":        {kind: "rw", event: `"mode":"shared"`, proof: "was granted the lock alone"},
		"semaphore": {kind: "semaphore", permits: 2, event: `"permits":2`, proof: "while all 2 permits were out"},
		"reentrant": {kind: "reentrant", event: `"mode":"nested"`, proof: "was granted the lock"},
	} {
		lock := program + " " + kind
		try := func(t *testing.T, lock string) outcome {
			t.Helper()
			flags := append(strings.Fields(tc.flags), "--lock", lock, "--cluster", "redis", "--duration", "5s")
			return picklock(t, flags...)
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			o := try(t, lock)
			if o.code != 0 || o.verdict.Properties[checker.Exclusion].Valid != checker.True {
				t.Errorf("exit %d, %v", o.code, anomalies(o.verdict))
			}
			text, err := os.ReadFile(filepath.Join(o.dir, results.RunFile))
			if err != nil {
				t.Fatal(err)
			}
			var run results.Run
			if err := json.Unmarshal(text, &run); err != nil {
				t.Fatal(err)
			}
			if run.Kind != tc.kind || run.Permits != tc.permits {
				t.Errorf("recorded as kind %q with %d permits", run.Kind, run.Permits)
			}
			history, err := os.ReadFile(filepath.Join(o.dir, "history.jsonl"))
			if err != nil || !bytes.Contains(history, []byte(tc.event)) {
				t.Errorf("no %s in the history: %v", tc.event, err)
			}
		})
		t.Run(kind+" wrong", func(t *testing.T) {
			t.Parallel()
			o := try(t, lock+" wrong")
			if o.code != 1 || anomalies(o.verdict)["granted-early"] == 0 {
				t.Fatalf("exit %d, %v", o.code, anomalies(o.verdict))
			}
			if !slices.ContainsFunc(o.verdict.Anomalies, func(a checker.Anomaly) bool {
				return a.Name == "granted-early" && strings.Contains(a.Explanation, tc.proof)
			}) {
				t.Errorf("no proof has %q: %v", tc.proof, o.verdict.Anomalies)
			}
		})
	}
}

// A hunt does not know how many clients may hold a program's lock before that has been opened: then it has as many
// clients as it takes to give out one permit too many.
func TestHuntOfExecSemaphore(t *testing.T) {
	t.Parallel()
	program := kindsLock(t)
	code, out, err := invoke(t.Context(), "hunt", "--lock", program+" semaphore wrong", "--cluster", "redis", "--max-faults", "0",
		"--fail-fast", "--duration", "40s", "--finish", "0s", "--jobs", "4", "--out", filepath.Join(t.TempDir(), "hunt"))
	if err != nil || code != 1 || !strings.Contains(string(out), "while all 2 permits were out") {
		t.Errorf("exit %d, %v\n%s", code, err, out)
	}
}
