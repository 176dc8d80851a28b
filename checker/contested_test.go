package checker

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestContestedByUnanswered: an update that was never answered may go on for ever,
// and contests what others do, but not what its own process does next.
func TestContestedByUnanswered(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"alone", "0.1- c1 add value=a\n0.3-0.4 c1 add value=b", 0},
		{"with another one", "0.1- c1 add value=a\n0.3-0.4 c2 add value=b", 1},
		{"the longer one came later", "0.1- c1 add value=a\n0.2-0.5 c2 add value=b\n0.3-0.8 c3 add value=c\n0.7-0.9 c1 add value=d", 3},
		{"the longer one came first", "0.1- c1 add value=a\n0.2-0.8 c2 add value=b\n0.3-0.5 c3 add value=c\n0.7-0.9 c1 add value=d", 3},
		{"neither is long enough", "0.1- c1 add value=a\n0.2-0.6 c2 add value=b\n0.3-0.5 c3 add value=c\n0.7-0.9 c1 add value=d", 2},
		{"the look counts", "0.1-0.2 c1 read\n0.3-0.4 c2 add value=a\n0.5-0.6 c1 add value=b", 2},
		{"the look of the one before does not", "0.1-0.15 c1 read\n0.2-0.25 c1 add value=a\n0.3-0.4 c2 add value=b\n0.5-0.6 c1 add value=c", 0},
		{"one begins where the other ends", "0.1-0.3 c1 add value=a\n0.3-0.4 c2 add value=b", 0},
		{"refused", "0.1-0.4 c1 add value=a !outdated\n0.2-0.3 c2 add value=b", 1},
		{"of two keys", "0.1-0.4 c1 add value=a key=k0\n0.2-0.3 c2 add value=b key=k1", 0},
	} {
		if got := contestedUpdates(analysed(script(t, "options nolock=yes\n"+c.text)).locks); got != c.want {
			t.Errorf("%s: %d contested, want %d", c.name, got, c.want)
		}
	}
}

// TestUnlockedTimeout: without time nothing is decided, whatever is judged.
func TestUnlockedTimeout(t *testing.T) {
	in := script(t, "options nolock=yes\n0.1-0.4 c1 add value=a @0.2\n0.1-0.4 c2 add value=b parent=a @0.3\n")
	if v := Check(in); v.Valid != True {
		t.Fatalf("%v: %s", v.Valid, v.Why)
	}
	over, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	if p := CheckContext(over, in).Properties[Register]; p.Valid != Unknown || !strings.Contains(p.Why, "time given") {
		t.Errorf("%v: %s", p.Valid, p.Why)
	}
}
