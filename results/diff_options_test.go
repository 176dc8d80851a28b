package results

import (
	"testing"

	"github.com/picklock/picklock/checker"
)

// Options of the lock and abilities are settings, too: run.json has them in its command alone.
func TestDiffShowsOptionsOfTheLock(t *testing.T) {
	a := Run{Command: []string{"picklock", "run", "--lock", "queue"}}
	b := Run{Command: []string{"picklock", "run", "--lock", "queue", "--lock-option", "consumers=2", "--ability", "confirms=no"}}
	d := diff(a, b, checker.Verdict{}, checker.Verdict{})
	if len(d.Settings) != 2 || d.Settings[0].B != "confirms=no" || d.Settings[1].B != "consumers=2" {
		t.Errorf("%+v", d.Settings)
	}
}
