package hunt

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Some workloads are there for one fault: for each of its triggers and ends, and in no pair. What they add to the
// space is no more than that.
func TestNarrowWorkloads(t *testing.T) {
	for _, tt := range []struct {
		workload string
		want     []string
	}{
		{lives, []string{"kill: A when before A's write until 1.6 leases"}},
		{restarts, []string{
			"kill: A when A's acquire has sent message 1 until at once",
			"kill: A when A's acquire has sent message 1 until after B's read or 3 leases",
			"kill: A when before A's write until at once",
			"kill: A when before A's write until after B's read or 3 leases",
			"kill: A when before A's release until at once",
			"kill: A when before A's release until after B's read or 3 leases",
			"kill: A when A's release has sent message 1 until at once",
			"kill: A when A's release has sent message 1 until after B's read or 3 leases",
		}},
		{lapses, []string{
			"pause: A when A's acquire has sent message 1 until 0.2 leases",
			"pause: A when A's acquire has sent message 2 until 0.2 leases",
			"hold: servers to A when A's acquire has sent message 1 until 0.2 leases",
			"hold: servers to A when A's acquire has sent message 2 until 0.2 leases",
			"withhold: servers to A when A's acquire has sent message 1 until 0.2 leases",
			"withhold: servers to A when A's acquire has sent message 2 until 0.2 leases",
		}},
		{cancels, []string{
			"cut: B from servers when B's acquire has sent message 1 until 0.4 leases",
			"cut: B from servers when B's acquire has sent message 2 until 0.4 leases",
			"hold: B to servers when B's acquire has sent message 1 until 0.4 leases",
			"hold: B to servers when B's acquire has sent message 2 until 0.4 leases",
			"hold: servers to B when B's acquire has sent message 1 until 0.4 leases",
			"hold: servers to B when B's acquire has sent message 2 until 0.4 leases",
			"reset: B to servers silently when B's acquire has sent message 1 until 0.4 leases",
			"reset: B to servers silently when B's acquire has sent message 2 until 0.4 leases",
			"reset: B to servers when B's acquire has sent message 1 until 0 leases",
			"reset: B to servers when B's acquire has sent message 2 until 0 leases",
			"withhold: servers to B when B's acquire has sent message 1 until 0.4 leases",
			"withhold: servers to B when B's acquire has sent message 2 until 0.4 leases",
		}},
		{cancelsGranted, []string{
			"hold: servers to A when A's acquire has sent message 1 until 0.2 leases",
			"hold: servers to A when A's acquire has sent message 2 until 0.2 leases",
			"withhold: servers to A when A's acquire has sent message 1 until 0.2 leases",
			"withhold: servers to A when A's acquire has sent message 2 until 0.2 leases",
		}},
		{comesBack, []string{
			"hold: servers to A when before A's acquire until 1.6 leases",
			"hold: servers to A when before A's release until 1.6 leases",
		}},
		{alone, nil},
		{forgets, []string{"kill: redis when after A's acquire until before B's acquire or 3 leases", "powerloss: redis when after A's acquire until before B's acquire or 3 leases"}},
		{five, []string{
			"kill: A when before A's write until 1.6 leases",
			"kill: B when B's acquire has sent message 1 until 1.6 leases",
			"pause: B when B's acquire has sent message 1 until 1.6 leases",
		}},
		{shorter, []string{"kill: B when before B's write until 1 lease", "pause: B when before B's release until 1 lease"}},
		{longer, []string{"kill: B when before B's write until 1 lease", "pause: B when before B's release until 1 lease"}},
	} {
		var got []string
		with := target(1, 1)
		with.Cancels = true
		for p := range space(with, 2) {
			if p.workload != tt.workload || p.depth == 0 {
				continue
			}
			if p.depth > 1 {
				t.Errorf("%s: a pair: %s", tt.workload, p.id)
			}
			got = append(got, p.schedule.TriggeredFaults[0].String())
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.workload, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

// TestServersFailAtTheGrant: where A keeps the lock for long, a server fails when A has just been granted it, before it
// fails while B waits.
func TestServersFailAtTheGrant(t *testing.T) {
	at := map[string][]string{}
	for p := range space(Target{Lock: "l", TTL: time.Second, Servers: []string{"s1", "s2", "s3"}, Roles: true, Kept: true}, 1) {
		if p.workload != stays || p.depth == 0 {
			continue
		}
		f := p.schedule.TriggeredFaults[0]
		at[f.Fault.Text] = append(at[f.Fault.Text], f.When.String())
	}
	for _, fault := range []string{"disk: leader stall", "pause: leader", "cut: leader from followers"} {
		at[fault] = slices.DeleteFunc(at[fault], func(when string) bool { return strings.HasPrefix(when, "before ") }) // of the early pairs
		if want := []string{"after A's acquire", "B waiting"}; !slices.Equal(at[fault], want) {
			t.Errorf("%s: %q, want %q", fault, at[fault], want)
		}
	}
	for fault, when := range at {
		if strings.HasSuffix(fault, ": A") && slices.Contains(when, "after A's acquire") {
			t.Errorf("%s, which befalls no server: %q", fault, when)
		}
	}
}

// TestForgets: a lease that a server may forget outlasts the server's restart. A lock that is kept has another workload for that.
func TestForgets(t *testing.T) {
	leases := func(on Target) (got []time.Duration) {
		for p := range space(on, 1) {
			if p.workload == forgets && !slices.Contains(got, p.schedule.TTL) {
				got = append(got, p.schedule.TTL)
			}
		}
		return got
	}
	long, kept := target(1, 1), target(1, 1)
	long.TTL, kept.Kept = 3*time.Second, true
	for _, tt := range []struct {
		on   Target
		want []time.Duration
	}{{target(1, 1), []time.Duration{restartLease}}, {long, []time.Duration{long.TTL}}, {kept, nil}} {
		if got := leases(tt.on); !slices.Equal(got, tt.want) {
			t.Errorf("lease of %v, kept %v: %v, want %v", tt.on.TTL, tt.on.Kept, got, tt.want)
		}
	}
}

// TestAsksLater: of a lock that is kept a client asks whether it holds it after a fault befell it amid its work.
func TestAsksLater(t *testing.T) {
	for _, kept := range []bool{false, true} {
		for _, holds := range []bool{false, true} {
			on := target(1, 1)
			on.Kept, on.Holds = kept, holds
			faults := 0
			for p := range space(on, 1) {
				if p.workload != asksLater || p.depth == 0 {
					continue
				}
				if st := p.schedule.TriggeredFaults[0]; st.Fault.Word == "reset" {
					faults++
					if at := st.When.String(); at != "before A's 2nd work" {
						t.Errorf("%s %s", st.Fault.Text, at)
					}
				}
			}
			if (faults > 0) != (kept && holds) {
				t.Errorf("kept %v, can be asked %v: %d resets", kept, holds, faults)
			}
		}
	}
}

// TestUnanswered: of a lock with a lease that its library keeps, the answer to the second renewal is lost. The lease is long enough to connect anew.
func TestUnanswered(t *testing.T) {
	for _, kept := range []bool{false, true} {
		for _, granted := range []time.Duration{0, time.Second / 4} {
			on := target(1, 1)
			on.Kept, on.Granted = kept, granted
			var got, want []string
			for p := range space(on, 1) {
				if p.workload == unanswered && p.depth > 0 {
					got = append(got, p.schedule.TriggeredFaults[0].String())
					if p.schedule.TTL != reconnectLease {
						t.Errorf("%s with a lease of %v", p.id, p.schedule.TTL)
					}
				}
			}
			if kept && granted > 0 {
				want = []string{"reset: A to servers when A's work has sent message 2 until 0 leases", "withhold: servers to A when A's work has sent message 2 until 0.1 leases"}
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("kept %v, of a lease %v: %q, want %q", kept, granted, got, want)
			}
		}
	}
}
