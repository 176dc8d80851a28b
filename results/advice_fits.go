package results

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/internal/format"
)

// Kinds of suspects.
var (
	none          = kinds{}
	failed        = kinds{verdict.OnServer: {"kill", "powerloss"}}
	promoted      = kinds{verdict.OnServer: {"failover"}}
	server        = kinds{verdict.OnServer: nil}
	refusing      = kinds{verdict.OnServer: {"refuse"}}
	serverClock   = kinds{verdict.OnServer: {"clock"}}
	clientClock   = kinds{verdict.OnClient: {"clock"}}
	clientLinks   = kinds{verdict.OnClient: {"partition", "flap", "reset", "loss", "hold", "withhold", "slow"}}
	clientStopped = kinds{verdict.OnClient: {"pause", "kill"}}
	stopped       = kinds{verdict.OnClient: {"pause"}, verdict.OnMachine: nil}
	resource      = kinds{verdict.OnResource: nil}
)

// kinds are faults by where they mattered; nil stands for all.
type kinds map[verdict.Side][]string

// struck fits if a fault of these kinds is suspected; of none, where no fault is.
func struck(k kinds) func(seen) (string, bool) {
	return func(s seen) (string, bool) {
		suspect := s.suspect()
		if suspect == nil {
			return "", len(k) == 0
		}
		names, ok := k[suspect.On]
		base, _, _ := strings.Cut(suspect.Fault, ":")
		return "", ok && (names == nil || slices.Contains(names, base))
	}
}

// cameBack fits if the server that is suspected had failed before the lease was granted.
func cameBack(s seen) (string, bool) {
	figure, ok := struck(failed)(s)
	return figure, ok && s.suspect().Earlier
}

// stillDown fits if that server was not known to be back when the second grant came.
func stillDown(s seen) (string, bool) {
	figure, ok := cameBack(s)
	return figure, ok && s.suspect().End > s.list[0].Time
}

// ofFault says that the advice is on the fault that is suspected, not on the lock that did
// wrong under it.
func (a advice) ofFault(s seen) bool {
	if a.fits == nil {
		return false
	}
	bare := s
	bare.list = slices.Clone(s.list)
	for i := range bare.list {
		bare.list[i].Suspect = nil
	}
	_, without := a.fits(bare)
	return !without
}

// suspect is that of the group's first anomaly: of the kind that all of them have, unless a wrong step of the lock
// itself is what they have in common.
func (s seen) suspect() *verdict.Suspect {
	if len(s.list) == 0 {
		return nil
	}
	return s.list[0].Suspect
}

func unlocked(s seen) (string, bool) { return "", s.run.NoLock }

// by names the fault that is suspected of the whole group: "kill of redis"; where not all
// were affected alike, only what kind it is: "pause of a client". Where each has one, and not the same, it names them all.
func (s seen) by() string {
	first := s.suspect()
	if first == nil {
		return ""
	}
	kinds := map[string]bool{}
	for _, a := range s.list {
		kinds[a.Suspect.Kind()] = true
	}
	if kinds[""] {
		return ""
	}
	if len(kinds) > 1 {
		return clip(strings.Join(slices.Sorted(maps.Keys(kinds)), " or "), 200)
	}
	if len(first.Nodes) == 0 || slices.ContainsFunc(s.list, func(a checker.Anomaly) bool { return a.Suspect == nil || !slices.Equal(a.Suspect.Nodes, first.Nodes) }) {
		return clip(first.Kind(), 100)
	}
	return clip(first.Fault+" of "+format.And(first.Nodes), 100)
}

// early is how the group's locks were given away: each grant's the first time only, since
// after that its lock is free to be taken again.
func (s seen) early() []verdict.Early {
	var out []verdict.Early
	before := map[string]bool{}
	for _, a := range s.list {
		switch lease := a.Sizes["lease"]; {
		case len(a.Grants) > 2: // of several older grants asked_before is there only if the newer one came with the latest
			out = append(out, verdict.Early{Lease: lease, Left: lease, Asked: a.Sizes["asked_before"], Crowd: true})
		case len(a.Grants) == 2 && !before[a.Key+"\x00"+a.Grants[0]]:
			before[a.Key+"\x00"+a.Grants[0]] = true
			out = append(out, verdict.Early{Lease: lease, Left: a.Sizes["remaining"], Asked: a.Sizes["asked_before"]})
		}
	}
	return out
}

// ofPermits fits a semaphore.
func ofPermits(s seen) (string, bool) {
	return "", len(s.list) > 0 && s.list[0].Sizes["permits"] > 0
}

// afterInner fits if the lock was given away each time within a tenth of the lease after its holder had released an inner entry.
func afterInner(s seen) (string, bool) {
	return "", len(s.list) > 0 && !slices.ContainsFunc(s.list, func(a checker.Anomaly) bool {
		since := a.Sizes["since_inner"]
		return since == 0 || since >= a.Sizes["lease"]/10
	})
}

// ofEntry fits if nothing but the lease that an inner acquire had been promised was left, each time.
func ofEntry(s seen) (string, bool) {
	return "", len(s.list) > 0 && !slices.ContainsFunc(s.list, func(a checker.Anomaly) bool { return a.Sizes["since_entry"] == 0 })
}

// atOnce fits where the second grant came as soon as the first, most of the time.
func atOnce(s seen) (string, bool) { return "", verdict.AtOnce(s.early()) }

// stoppedHolder fits if the lock was given away, each time, while the client that had it was stopped or dead, by a fault of
// that kind: nothing that it did can have freed the lock.
func stoppedHolder(kind string) func(s seen) (string, bool) {
	return func(s seen) (string, bool) {
		for _, a := range s.list {
			k := a.Suspect
			if k == nil || k.Kind() != kind || len(a.Grants) != 2 || len(a.Processes) == 0 || !slices.Contains(k.Nodes, a.Processes[0]) || a.Sizes["stopped"] == 0 {
				return "", false
			}
		}
		if len(s.list) == 0 || s.list[0].Sizes["lease"] == 0 {
			return "", false
		}
		first := s.list[0].Sizes
		return "about " + format.Digits(math.Round(100*(1-float64(first["remaining"])/float64(first["lease"])))) + " %", true
	}
}

// setBack fits if a clock of the service was set back while the last holder had the lock.
func setBack(s seen) (string, bool) {
	return "", slices.ContainsFunc(s.list, func(a checker.Anomaly) bool { return a.Sizes["set_back"] > 0 })
}

// ofLease fits if the last holder had been promised a lease.
func ofLease(s seen) (string, bool) {
	return "", len(s.list) > 0 && !slices.ContainsFunc(s.list, func(a checker.Anomaly) bool { return a.Sizes["lease"] == 0 })
}

// clientAhead fits if the last holder's clock was ahead when it was granted the lock.
func clientAhead(s seen) (string, bool) {
	return "", slices.ContainsFunc(s.list, func(a checker.Anomaly) bool { return a.Sizes["ahead"] > 0 })
}

// renewed fits where the last holder's lease had been renewed.
func renewed(s seen) (string, bool) {
	return "", slices.ContainsFunc(s.list, func(a checker.Anomaly) bool { return a.Sizes["renewals"] > 0 })
}

// afterRenewal fits if the lock was given away each time within a twentieth of the lease after its holder had renewed that.
func afterRenewal(s seen) (string, bool) {
	return "", len(s.list) > 0 && !slices.ContainsFunc(s.list, func(a checker.Anomaly) bool {
		since, renewed := a.Sizes["since_renewal"]
		return len(a.Grants) != 2 || !renewed || since >= a.Sizes["lease"]/20
	})
}

// shareOfLease fits where leases were cut short again and again at about the same
// share of their length: "60 %".
func shareOfLease(s seen) (string, bool) {
	if len(s.cutShort) > 0 && slices.ContainsFunc(s.list, func(a checker.Anomaly) bool { return a.Suspect == nil }) {
		s.list = s.cutShort
	}
	low, ok := verdict.AgreedShare(s.early())
	return "about " + format.Digits(float64(int(low+.5))) + " %", ok
}
