package checker

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestContradiction: where Porcupine and the exact check differ, the verdict says so, and
// where they agree, or Porcupine knows less than the log, it is not.
func TestContradiction(t *testing.T) {
	grants := func(in Input) []*grant { return analysed(in).lockNamed("k0").grants }
	legal := grants(script(t, "0.1-0.2 c1 acquire c1.1 lease=1\n1.3-1.4 c2 acquire c2.1 lease=1"))
	early := grants(script(t, "0.1-0.2 c1 acquire c1.1 lease=1\n0.3-0.4 c2 acquire c2.1 lease=1"))
	for _, c := range []struct {
		name               string
		grants             []*grant
		exact, illegalOnly bool
		want               string
	}{
		{"both legal", legal, true, false, ""},
		{"both illegal", early, false, false, ""},
		{"we accuse", legal, false, false, "the exact check says illegal and Porcupine says legal"},
		{"we miss", early, true, false, "the exact check says legal and Porcupine says illegal"},
		{"the log knows more", legal, false, true, ""},
		{"the log missed it", early, true, true, "the exact check says legal and Porcupine says illegal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := window{key: "k0", build: func() porcupineCase {
				return porcupineCase{exact: c.exact, illegalOnly: c.illegalOnly, model: lockModel(true, false), calls: lockCalls(c.grants, true)}
			}}
			got := disagreement([]window{w}, farOff())
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestBothAtOnce: c2's lease can have begun after c1's, and tokens can rise, but
// not both. Exclusion is not accused, and the tokens are, with the words that it may be the other.
func TestBothAtOnce(t *testing.T) {
	v := Check(script(t, `
0.100-0.300 c1 acquire c1.1 token=2 since=0.150 lease=0.2
0.100-0.400 c2 acquire c2.1 token=1 since=0.200 lease=1
0.500-0.510 c2 release c2.1
0.600-0.610 c3 acquire c3.1 token=3 lease=1
`))
	said := slices.ContainsFunc(v.Anomalies, func(a Anomaly) bool {
		return a.Cause == "or-overlap" && strings.HasSuffix(a.Explanation, "c2 was granted the lock later with the smaller token, or both held it at once")
	})
	if p := v.Properties[Tokens]; p.Valid != False || !said {
		t.Errorf("tokens %v: %s: %v", p.Valid, p.Why, v.Anomalies)
	}
	if p := v.Properties[Exclusion]; p.Valid != Unknown {
		t.Errorf("exclusion %v: %s", p.Valid, p.Why)
	}
}

func farOff() time.Time { return time.Now().Add(time.Minute) }
