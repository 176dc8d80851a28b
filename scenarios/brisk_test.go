package scenarios

import (
	"errors"
	"testing"
	"time"
)

// TestTooSlowForALease: what a client does may not last until a lease is over that was meant to
// outlast it, unless a fault makes it last. In these runs a lease is a second.
func TestTooSlowForALease(t *testing.T) {
	const two = "clients:\n  A: acquire, work 1.1 leases, write, release\n  B: await A granted, acquire, work 0.2 leases, "
	for name, tt := range map[string]struct {
		text  string
		takes time.Duration // A's write
		busy  bool
	}{
		"its own":                      {"clients:\n  A: acquire, write\n", 1100 * time.Millisecond, true},
		"almost its own":               {"clients:\n  A: acquire, write\n", 900 * time.Millisecond, false},
		"another's":                    {two + "write\n", time.Second, true},
		"almost another's":             {two + "write\n", 800 * time.Millisecond, false},
		"one that was released before": {"clients:\n  A: acquire, work 1.3 leases, write\n  B: await A granted, acquire, work 0.1 leases, release\n", 900 * time.Millisecond, false},
		"one that was over already":    {"clients:\n  A: acquire, work 1.1 leases, write\n", 3 * time.Second, false},
		"under a fault":                {"clients:\n  A: acquire, write\n" + strike("A's write", "slow: A to redis 50ms", "0.1 leases"), 1100 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			out := runSchedule(t, tt.text, func(s *stage, _ *Runner) { s.takes["A write"] = tt.takes })
			if errors.Is(out.err, ErrBusy) != tt.busy || out.err != nil && !tt.busy {
				t.Errorf("%v, of %q", out.err, out.log)
			}
		})
	}
}
