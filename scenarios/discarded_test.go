package scenarios

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/picklock/picklock/workloads"
)

// A run of which a fault did not strike as it was meant is discarded, whatever came of it.
func TestDiscarded(t *testing.T) {
	broken := func(kind string) func(*stage, *Runner) {
		return func(s *stage, _ *Runner) { s.broken[kind] = errors.New("no hands") }
	}
	tests := []struct {
		name, text string
		prepare    func(*stage, *Runner)
		why        string
		of         string
		cannot     bool
		busy       bool
	}{
		{"a move that is passed over", "clients:\n  A: acquire, write\n" + strike("before A's write", "pause: A", ""), func(s *stage, _ *Runner) { s.refuse["A acquire"] = workloads.Failed },
			`its trigger never came: before A.s write \(A.s acquire came to failed.*\)`, "pause: A", false, false},
		{"an event that never comes", "clients:\n  A: acquire\n  B: acquire within 0.1 leases\n" + strike("B lost", "pause: A", ""), nil, "its trigger never came: B lost", "pause: A", false, false},
		{"too few messages", "clients:\n  A: acquire, release\n" + strike("A's release has sent message 2", "pause: A", ""), func(s *stage, _ *Runner) { s.messages = 1 },
			`its trigger never came: A.s release has sent message 2 \(it sent 1 and was over\)`, "pause: A", false, false},
		{"too few messages of a library's own", "clients:\n  A: acquire, work 0.2 leases, release\n" + strike("A's work has sent message 2", "pause: A", ""), func(s *stage, _ *Runner) { s.messages = 1 },
			`its trigger never came: A.s work has sent message 2 \(it sent 1 and was over\)`, "pause: A", false, false},
		{"a fault that does not land", "clients:\n  A: acquire, write\n" + strike("A's write", "pause: A", ""), broken("pause"), "no hands", "pause: A", true, false},
		{"a fault that takes longer than the rest", "clients:\n  A: acquire, write\n" + strike("A granted", "pause: A", ""), func(s *stage, _ *Runner) { s.hangs = true },
			"the run was over before fault pause: A had taken effect", "pause: A", false, false},
		{"messages that cannot be counted", "clients:\n  A: acquire, write\n" + strike("A's write has sent message 1", "pause: A", ""), broken("gate"), "no hands", "pause: A", true, false},
		{"the second of two", "clients:\n  A: acquire, write\n" + strike("A's write", "cut: A to redis", "0.1 leases") + more("start", "clock: A +5s", ""), broken("clock"), "no hands", "clock: A +5s", true, false},
		{"a fault that strikes too late", "clients:\n  A: acquire, write\n" + strike("A's write", "pause: A", ""), func(s *stage, _ *Runner) { s.skip = 300 * time.Millisecond },
			// Whoever else looks at the clock meanwhile makes it later.
			`it was injected \d+00ms after its trigger: this machine is too busy`, "pause: A", false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := runSchedule(t, tt.text, tt.prepare)
			var discarded *DiscardedError
			if !errors.As(got.err, &discarded) {
				t.Fatalf("not discarded: %v", got.err)
			}
			why := discarded.Why
			if discarded.Instead != "" {
				why += " (" + discarded.Instead + ")"
			}
			if !regexp.MustCompile("^"+tt.why+"$").MatchString(why) || discarded.TriggeredFault.Fault.Text != tt.of || discarded.Err != nil != tt.cannot || discarded.Busy() != tt.busy {
				t.Errorf("%q of %s, cannot %v, busy %v", why, discarded.TriggeredFault.Fault.Text, discarded.Err, discarded.Busy())
			}
		})
	}
}
