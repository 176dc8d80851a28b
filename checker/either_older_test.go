package checker

import (
	"testing"
)

// By some shift of the clocks c1 was in force when c2 was granted the lock with the greater token: then the tokens do not say which is
// the older, and no write is certainly stale.
func TestEitherOlderWithinSkew(t *testing.T) {
	const text = `
0.002-0.008 c2 acquire c2.1 token=2
0.009-0.009 c2 read c2.1 @0.009
0.009-0.010 c1 acquire c1.1 token=1
0.011-0.011 c1 read c1.1 @0.011
0.010-0.0115 c2 write c2.1 value=a @0.0112 ?
0.012-0.0125 c1 write c1.1 value=b @0.012
0.014-0.014 c1 release c1.1 held
`
	for skew, want := range map[int64]Validity{1e6: Unknown, 1: False} {
		in := script(t, text)
		in.Options = Options{Skew: skew, SkipCrossCheck: true}
		if got := Check(in); got.Properties[Register].Valid != want {
			t.Errorf("clocks up to %d ns apart: the register is %v, want %v: %s; %v", skew, got.Properties[Register].Valid, want, got.Properties[Register].Why, found(got))
		}
	}
}
