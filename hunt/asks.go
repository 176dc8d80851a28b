package hunt

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
	acts "github.com/picklock/picklock/workloads"
)

// learnTries is how often a runner is asked what the lock can do, while this machine is too busy for an answer.
const learnTries = 3

// keptFor is how long, in leases, a client works while another one asks for its lock, and how much of that the
// other must have waited: a lease that nobody renews is over by then.
const keptFor, keptAtLeast = 1.6, 1.5

// Learn finds out by a run what the lock can do: whether clients can ask it if they hold it, of which kind it is, whether
// it answers who releases it twice, and whether it keeps a lock for a client that works for longer than the lease. It is needed of a lock that says so only
// when it is opened, or not at all.
func (t *Target) Learn(ctx context.Context, p Runner) error {
	w := workload{name: asksHeld, programs: []scenarios.Program{
		// What cannot be asked ends the run, and comes last.
		scenarios.MustProgram(fmt.Sprintf("await after C's 2nd release or 9 leases, acquire, work %v leases, work 0.4 leases, %s, release", keptFor, acts.Held), clientNames),
		scenarios.MustProgram("await A granted, acquire, release", clientNames),
		// It asks anew when the lease is over, and B may have slept through that.
		scenarios.MustProgram("acquire, release, release again, await A's 2nd work or 12 leases, acquire, release", clientNames),
	}}
	for range learnTries {
		out, err := p.Run(ctx, t.schedule(w))
		if err != nil {
			return err
		}
		t.Reentrant, t.Shared, t.Downgrades, t.Cancels, t.Several, t.Permits = out.Reentrant, out.Shared, out.Downgrades, out.Cancels, out.Several, out.Permits
		t.Mixed = with(t.Mixed, out.Mixed)
		t.Holds = slices.ContainsFunc(out.Events, func(e history.Event) bool { return e.F == history.Holds && e.Type == history.OK })
		t.ReleasesTwice = releasesTwice(out.Events)
		t.Granted, t.Ungranted = granted(out.Events), ungranted(out.Events)
		t.Watchdog = slices.ContainsFunc(out.Events, func(e history.Event) bool { return e.F == history.Acquire && e.Watchdog })
		t.Kept = kept(out.Events, clientNames[2], t.TTL)
		t.Overstays = t.Kept && unrenewed(out.Events, clientNames[2])
		if !out.Busy {
			return nil
		}
	}
	return nil
}

// granted is the shortest lease of the grants; 0 if one has none.
func granted(events []history.Event) time.Duration {
	shortest := time.Duration(0)
	for _, e := range events {
		if e.F != history.Acquire || e.Type != history.OK {
			continue
		}
		if e.Lease == 0 {
			return 0
		}
		if lease := time.Duration(e.Lease); shortest == 0 || lease < shortest {
			shortest = lease
		}
	}
	return shortest
}

// releasesTwice says that a second release of one grant was answered, and did not end the client's program.
func releasesTwice(events []history.Event) bool {
	released := map[string]bool{}
	for _, e := range events {
		if e.F != history.Release || e.Type == history.Invoke {
			continue
		}
		if released[e.Grant] && answered(e) && !e.ClientFailed {
			return true
		}
		released[e.Grant] = true
	}
	return false
}

// kept says that, of the clients but one, the second was not granted the lock before the first one's lease would have been over,
// had nobody renewed it; nor was that one, which asked anew then, before the first gave the lock back.
func kept(events []history.Event, but string, lease time.Duration) bool {
	var grants []history.Event
	for _, e := range events {
		if e.F == history.Acquire && e.Type == history.OK && e.Process != but {
			grants = append(grants, e)
		}
	}
	if len(grants) > 0 && grantedBefore(events, but, grants[0]) {
		return false
	}
	return len(grants) == 1 || len(grants) > 1 && time.Duration(grants[1].Time-grants[0].Time) >= time.Duration(keptAtLeast*float64(lease))
}

// grantedBefore says that a client was granted the lock after another one, and before that asked to release it.
func grantedBefore(events []history.Event, client string, first history.Event) bool {
	after := slices.IndexFunc(events, func(e history.Event) bool {
		return e.Time == first.Time && e.Process == first.Process && e.F == first.F && e.Type == first.Type
	})
	for _, e := range events[after+1:] {
		switch {
		case e.Process == first.Process && e.F == history.Release:
			return false
		case e.Process == client && e.F == history.Acquire && e.Type == history.OK:
			return true
		}
	}
	return false
}

// unrenewed says that the first grant, but for those to one client, has a lease that nothing renewed, nor was to.
func unrenewed(events []history.Event, but string) bool {
	i := slices.IndexFunc(events, func(e history.Event) bool {
		return e.F == history.Acquire && e.Type == history.OK && e.Process != but
	})
	if i < 0 || events[i].Lease == 0 || events[i].Watchdog {
		return false
	}
	return !slices.ContainsFunc(events, func(e history.Event) bool { return e.F == history.Renew && e.Grant == events[i].Grant })
}
