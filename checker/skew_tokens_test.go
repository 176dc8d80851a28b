package checker

import (
	"strings"
	"testing"
	"time"
)

// TestSkewDoubtsTokens: what two clients of one machine did is not certain if it rests on the order of tokens that some shift of
// another machine's clock contradicts.
func TestSkewDoubtsTokens(t *testing.T) {
	const another = "\n0.004-0.005 c2 acquire c2.1 token=2 since=0.004 lease=0.001\n-0.005 c2 lost c2.1"
	for name, c := range map[string]struct {
		text string
		skew time.Duration
		want Validity
	}{
		"an answer that a newer token shows false": {`
0.004-0.005 c1 acquire c1.1 token=1 since=0.004 lease=0.001
0.004-0.006 c3 acquire c3.1 token=3 since=0.004 lease=0.001
0.007-0.007 c1 release c1.1 held` + another, time.Millisecond, Unknown},
		"an answer that times show false, too": {`
0.004-0.005 c1 acquire c1.1 token=1 since=0.004 lease=0.001
0.0055-0.0061 c3 acquire c3.1 token=3 since=0.0055 lease=0.0005
0.007-0.007 c1 release c1.1 held` + another, time.Millisecond, False},
		"a confirmation that a newer token shows false": {`
0.012-0.012 c2 acquire c2.1 token=2 since=0.012 lease=0.001
-0.012 c2 lost c2.1
0.012-0.018 c3 acquire c3.1 token=3 since=0.012 lease=0.001
0.014-0.014 c1 acquire c1.1 token=1 since=0.014 lease=0.001
0.019-0.019 c3 release c3.1 held
0.020-0.020 c1 release c1.1 held`, 2 * time.Millisecond, Unknown},
		"a lease that needs no confirmation": {`
0.012-0.012 c2 acquire c2.1 token=2 since=0.012 lease=0.001
-0.012 c2 lost c2.1
0.014-0.014 c1 acquire c1.1 token=1 since=0.014 lease=0.010
0.012-0.018 c3 acquire c3.1 token=3 since=0.012 lease=0.001
0.019-0.019 c3 release c3.1 held
0.020-0.020 c1 release c1.1 held`, 2 * time.Millisecond, False},
		"the same, of three machines": {`
0.012-0.012 c2 acquire c2.1 token=2 since=0.012 lease=0.001
-0.012 c2 lost c2.1
0.012-0.018 c3 acquire c3.1 token=3 since=0.012 lease=0.001
0.014-0.014 c1 acquire c1.1 token=1 since=0.014 lease=0.001
0.029-0.029 c3 release c3.1 held
0.040-0.040 c1 release c1.1 held`, 2 * time.Millisecond, Unknown},
		"a lease that needs no confirmation, of three machines": {`
0.012-0.012 c2 acquire c2.1 token=2 since=0.012 lease=0.001
-0.012 c2 lost c2.1
0.012-0.018 c3 acquire c3.1 token=3 since=0.012 lease=0.001
0.014-0.014 c1 acquire c1.1 token=1 since=0.014 lease=0.030
0.029-0.029 c3 release c3.1 held
0.050-0.050 c1 release c1.1 held`, 2 * time.Millisecond, False},
	} {
		in := script(t, c.text)
		for i := range in.Events {
			if in.Events[i].Machine = "m"; in.Events[i].Process == "c2" || strings.Contains(name, "three") {
				in.Events[i].Machine = in.Events[i].Process
			}
		}
		if v := Check(in); v.Properties[Exclusion].Valid != False {
			t.Errorf("%s: by one clock %v (%s), want false", name, v.Properties[Exclusion].Valid, v.Properties[Exclusion].Why)
		}
		in.Options.Skew = int64(c.skew)
		if v := Check(in); v.Properties[Exclusion].Valid != c.want {
			t.Errorf("%s: by clocks that are apart %v (%s), want %v", name, v.Properties[Exclusion].Valid, v.Properties[Exclusion].Why, c.want)
		}
	}
}
