// Package hunt searches the schedules of a lock for ways to break it: every one up to a
// depth first, in a fixed order, then those that look most like coming close. What breaks
// a promise is run again until that is certain, made as small as it goes, and handed
// out as a scenario. It knows schedules and what a run of one is worth; it does not depend
// on how one is run, nor on how an anomaly is proved.
package hunt

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// Runner runs one schedule after the other. Several run side by side.
type Runner interface {
	Run(ctx context.Context, s *scenarios.Scenario) (*Outcome, error)
}

// Soloist is a Runner that can run a schedule while no other runs: the last try of one that the machine was too busy for.
type Soloist interface {
	RunAlone(ctx context.Context, s *scenarios.Scenario) (*Outcome, error)
}

// Waiter is a Runner that says when its next run may begin. The search chooses a schedule only then: one
// that is chosen earlier is not run when its turn is, and without what was learned meanwhile.
type Waiter interface {
	// Wait returns when the next run of this runner may begin, and true; that run, or Yield, uses it up. It is
	// false if ctx ended before.
	Wait(ctx context.Context) bool
	Yield()
}

// Chooser is a Runner that knows which schedules would have to wait for what others use. The search runs others first.
type Chooser interface {
	// Ready says that a run of s would begin at once. It may be called from any goroutine.
	Ready(s *scenarios.Scenario) bool
}

// Outcome is what came of one run.
type Outcome struct {
	Verdict     verdict.Verdict
	Events      []history.Event // in their order, times from the run's start
	Counts      map[string]int  // what the schedule counted, by name
	Discarded   string          // why it proves nothing of its schedule; "" if it does
	Instead     string          // what came instead of a fault's trigger, if that is why and the run tells
	FailedFault string          // the fault that did not take effect as planned
	Unsupported bool            // that fault cannot be done here
	Cannot      string          // the act that the lock cannot do, as a program names it; "" if that is not why it is discarded
	Busy        bool            // it is discarded because this machine was too busy
	Reentrant   bool            // the lock is: see Target
	Shared      bool
	Downgrades  bool
	Cancels     bool
	Several     bool
	Mixed       map[string]string // see Target, as far as it is known only now
	Permits     int
	Lease       time.Duration // the longest that the lock was seen to grant so far; 0 if none was
	Took        time.Duration
	Setup       time.Duration // what was mended or started for it
}

// Target is what is known of the lock before anything is run.
type Target struct {
	Lock    string
	Fencing string
	TTL     time.Duration
	// Leases are others that are tried, without a fault: a lock may keep some exactly and
	// round others.
	Leases []time.Duration
	Bound  time.Duration // the liveness bound of a run; 0: the harness's own
	// IgnoreLost: clients go on if their library reports that the lock is lost.
	IgnoreLost bool
	Extra      map[string]string
	// Other and Unrenewed are options of the lock with which the workloads are run once more, without a fault. With the latter nobody renews a
	// lease.
	Other, Unrenewed map[string]string
	// Mixed are options of the first client alone, with which they are run as well: NAME@CLIENT.
	Mixed   map[string]string
	Cluster string // "" for the lock's own
	Runtime string // "" for any
	Servers []string
	Roles   bool // one of the servers leads the others
	// External: the servers run already, and nothing is done to them but to their links with
	// clients.
	External bool
	// Unable are the faults that this cluster can never do, and why: a key of them is a
	// fault's word, or WipeFault. They are no part of the space.
	Unable    map[string]string
	Holds     bool // its clients can ask whether they hold it
	Permits   int  // how many clients may hold it at once; 0: one
	Reentrant bool // who holds it can acquire it once more
	Shared    bool // readers hold it together
	// Downgrades: who has it alone can go on to share it.
	Downgrades bool
	Cancels    bool // who waits for it can cancel that
	Several    bool // a client can hold several keys at once
	// Granted is the lease that the lock grants if its clients ask for TTL; 0 if that is not known, or if it grants none.
	Granted time.Duration
	// Watchdog: its library promises to renew a grant by itself.
	Watchdog bool
	// Ungranted: clients asked for it while no fault was on, and none got it.
	Ungranted bool
	// Overstays: the lock is kept for longer than the lease that it grants, although nobody renews that.
	Overstays bool
	// ReleasesTwice: a client can release again what it has released, and is answered.
	ReleasesTwice bool
	Kept          bool     // its library or its session keeps it for longer than a lease while its client works
	Kinds         []string // of faults that may be used, as "pause" or "kill:client"; nil: all
}

// clientNames are the names that schedules use.
var clientNames = []string{FirstClient, "B", "C", "D", "E"}

// FirstClient is the client that has the lock first in most workloads.
const FirstClient = "A"

// mostOfPermits is how many clients there are at most for a lock that several hold at once.
const mostOfPermits = 4

// ClientNames are the clients that a runner must have for the target.
func (t Target) ClientNames() []string {
	if t.Permits > 1 {
		return clientNames[:min(mostOfPermits, t.Permits+2)]
	}
	return clientNames[:3]
}

// AllClientNames are ClientNames and those that few schedules have besides: a runner starts them when
// the first of these comes.
func (t Target) AllClientNames() []string {
	if t.Permits > 1 {
		return t.ClientNames()
	}
	return clientNames
}

// fenced says that the resource looks at tokens.
func (t Target) fenced() bool { return t.Fencing != "" && t.Fencing != "none" }

// allows says that a fault may be used: its kind, or its kind on those whom it falls on.
func (t Target) allows(f fault) bool {
	kind, whom := kindOf(f.word), f.side()
	if t.Kinds != nil && !slices.Contains(t.Kinds, kind) && !slices.Contains(t.Kinds, kind+whom) {
		return false
	}
	unable := f.word
	if strings.HasSuffix(f.text, withoutData) {
		unable = WipeFault
	}
	return t.Unable[unable] == ""
}

const withoutData = " without data"

// WipeFault is, in Target.Unable, a server's kill that takes its data along.
const WipeFault = "kill" + withoutData

// unable are the faults that were asked for and that the cluster can never do, with why.
func (t Target) unable() []string {
	if t.External {
		return nil // it has no fault of servers at all
	}
	var out []string
	for fault, why := range t.Unable {
		kind, _, _ := strings.Cut(fault, " ")
		if t.Kinds == nil || slices.Contains(t.Kinds, kind) || slices.Contains(t.Kinds, kind+":server") {
			out = append(out, fault+": "+why)
		}
	}
	return out
}

// schedule makes a scenario of programs and triggered faults.
func (t Target) schedule(w workload, triggered ...scenarios.TriggeredFault) *scenarios.Scenario {
	s := &scenarios.Scenario{
		Name: "schedule", About: "a schedule of picklock hunt", File: "schedule.yaml",
		Locks: []string{t.Lock}, Fencing: []string{t.Fencing}, Cluster: t.Cluster, Runtime: t.Runtime, Extra: with(t.Extra, w.extra),
		TTL: cmp.Or(w.lease, t.TTL), Bound: t.Bound, IgnoreLost: t.IgnoreLost || w.ignores, Programs: map[string]scenarios.Program{}, TriggeredFaults: triggered,
	}
	for i, p := range w.programs {
		s.Clients = append(s.Clients, clientNames[i])
		s.Programs[clientNames[i]] = p
	}
	return s
}

// key is a schedule's text: two of one key are the same schedule.
func key(s *scenarios.Scenario) string {
	c := *s
	c.Name, c.About, c.Expect, c.Replay = "schedule", "x", nil, ""
	return string(c.Write())
}
