package results

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/corpus"
)

// TestLedTo: what came before the first anomaly of its root cause is no consequence of it.
func TestLedTo(t *testing.T) {
	const released = `10.000-10.010 c1 acquire c1.2 lease=0.1
10.200-10.210 c2 acquire c2.2 lease=1
10.300-10.310 c1 release c1.2
10.320-10.330 c3 acquire c3.1 lease=1`
	for _, c := range []struct{ text, want string }{
		{`0.000-0.010 c1 acquire c1.1 lease=0.1
0.200-0.210 c2 acquire c2.1 lease=0.5
0.300-0.310 c1 release c1.1 held
0.400-0.410 c2 release c2.1 held
` + released, "; the same bug perhaps shows in 1 false-belief from before that"},
		{released + `
11.000-11.010 c3 release c3.1 held
12.000-12.010 c1 acquire c1.1 lease=0.1
12.200-12.210 c2 acquire c2.1 lease=0.5
12.300-12.310 c1 release c1.1 held
12.400-12.410 c2 release c2.1 held`, ", perhaps also to 1 false-belief"},
	} {
		h, err := corpus.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var led []string
		for _, r := range rootCauses(Run{}, checker.Check(checker.Input{Events: h.Events})) {
			if r.Name == "wrong-release" {
				led = append(led, r.LedTo)
			}
		}
		if len(led) != 1 || !strings.HasPrefix(led[0], "which led to ") || !strings.HasSuffix(led[0], c.want) {
			t.Errorf("%q, want …%q", led, c.want)
		}
	}
}
