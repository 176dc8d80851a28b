package results

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/workloads"
)

// TestUnlockedSummary: a run without a lock is not said to have had one.
func TestUnlockedSummary(t *testing.T) {
	run := Run{Settings: workloads.Settings{Lock: "occ", Faults: []string{"pause:holder"}}, NoLock: true}
	for valid, want := range map[checker.Validity]string{
		checker.True:    "PASS. Without a lock (occ) no acknowledged update was lost under pause of the holder.",
		checker.False:   "FAIL. Without a lock (occ) the register broke under pause of the holder.",
		checker.Unknown: "UNKNOWN. Without a lock (occ) nothing is proved under pause of the holder.",
	} {
		v := checker.Verdict{Valid: valid, Stats: checker.Stats{Acknowledged: 7, Contested: 5, Writes: 8, Rejected: 3}}
		var b strings.Builder
		if err := Summary(&b, run, v, "", false); err != nil {
			t.Fatal(err)
		}
		first, rest, _ := strings.Cut(b.String(), "\n")
		if !strings.HasSuffix(first, want) {
			t.Errorf("%q, want %q", first, want)
		}
		if figures := "7 updates acknowledged (5 contested), 8 updates carried out, 3 refused"; strings.Contains(rest, figures) != (valid != checker.Unknown) || strings.Contains(rest, "grant") {
			t.Errorf("%v: %s", valid, rest)
		}
	}
	run.Faults = nil
	if got := headline(run, checker.Verdict{Valid: checker.True}); got != "PASS. Without a lock (occ) no acknowledged update was lost. No fault was injected." {
		t.Error(got)
	}
}
