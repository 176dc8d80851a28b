package testbeds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/nemesis"
)

// longestLease is the longest one that is chosen where the user named none.
const longestLease = 2 * time.Second

// longestGranted is the longest lease that a lock may grant, whatever it is asked for, to be searched with it.
const longestGranted = 10 * time.Second

// whole is the lease of a lock that keeps its lease for longer than it says: most such locks round it up to whole seconds.
const whole = time.Second

// longer is the lease that a lock grants, or keeps, if that is much longer than the one that was chosen: what happens at its end
// would not be tried. 0: the chosen one stays. again: it has been made longer before, and is not once more.
func (o *Options) longer(t hunt.Target, again bool, say func(text string)) time.Duration {
	lease, does := t.Granted, fmt.Sprintf("grants leases of %v if it is asked for %v", t.Granted, t.TTL)
	if 4*t.Granted <= 5*t.TTL {
		lease, does = whole, fmt.Sprintf("keeps the lock for longer than the lease of %v that it promises", t.TTL)
		if !t.Overstays {
			return 0
		}
	}
	switch {
	case !o.chosen || o.Learn != Everything:
		return 0
	case again || lease <= t.TTL || lease > longestGranted:
		say(fmt.Sprintf("%s %s: faults may end before a lease does, so that none is outlived; have it grant, and keep to, the lease that it is asked for", t.Lock, does))
		return 0
	}
	say(fmt.Sprintf("%s %s: the search is made with %v", t.Lock, does, lease))
	return lease
}

// tooBusy is the part of the runs that this machine may disturb before the lease is made
// longer.
const tooBusy = 0.15

// Jobs is how many runs there may be side by side at most: most of a run is waiting. With
// Options.AsCarried there are as many of them as the processors carry.
func Jobs(t hunt.Target) int { return max(2, min(48, 12*runtime.NumCPU())) }

// apart is how many testbeds with servers of their own keep this machine busy and not too busy.
func (o *Options) apart(t hunt.Target) int {
	perCPU := 3
	switch {
	case o.cold: // what its clients take to start is most of what a testbed takes
		perCPU = 1
	case len(t.Servers) > 2:
		perCPU = 2
	}
	return max(1, min(16, perCPU*runtime.NumCPU()))
}

// Start starts so many testbeds for a target that Target has made. Where the user named no
// lease and this machine is too busy for a short one, it is made longer, and the target
// that is returned says so: what the machine does late must be a small part of it. say is
// told how it goes.
func (o *Options) Start(ctx context.Context, info clients.Info, target hunt.Target, n int, say func(text string)) (*Pool, []hunt.Runner, hunt.Target, error) {
	if err := info.Build(ctx, say); err != nil {
		return nil, nil, target, err
	}
	if err := compose.Build(ctx, cmp.Or(o.Settings.Cluster, info.Cluster), o.Runtime, say); err != nil {
		return nil, nil, target, err
	}
	lengthened := false
	for before := 0; ; {
		pool := NewPool(*o, target)
		pool.n = before // each testbed has a folder of its own, also of those that have ended
		say(fmt.Sprintf("start %s for up to %d runs side by side, with a lease of %v", target.Lock, n, target.TTL))
		runners, err := pool.Open(ctx, n)
		if err != nil {
			return nil, nil, target, err
		}
		again, err := o.learn(ctx, info, &target, runners[0], say)
		if err != nil {
			return nil, nil, target, errors.Join(err, pool.Close())
		}
		if again {
			say(fmt.Sprintf("%s can be held by %d clients at once: %d clients have to ask for it", target.Lock, max(1, target.Permits), len(target.ClientNames())))
			if err := pool.Close(); err != nil {
				return nil, nil, target, err
			}
			before = pool.n
			continue
		}
		lease := time.Duration(0)
		if unsaid(info) {
			lease = o.longer(target, lengthened, say)
		}
		if lease > 0 {
			lengthened = true
			if target, err = o.anew(ctx, info, target, lease, pool); err != nil {
				return nil, nil, target, err
			}
			before = pool.n
			continue
		}
		if target.Ungranted {
			say(ungranted(info))
			return pool, runners, target, nil
		}
		busy, err := target.Probe(ctx, runners[:min(n, o.apart(target))])
		if err != nil {
			return nil, nil, target, errors.Join(err, pool.Close())
		}
		if !o.chosen || busy <= tooBusy || 2*target.TTL > longestLease {
			return pool, runners, target, nil
		}
		say(fmt.Sprintf("this machine is too busy for a lease of %v: %.0f %% of the runs were disturbed", target.TTL, 100*busy))
		if target, err = o.anew(ctx, info, target, 2*target.TTL, pool); err != nil {
			return nil, nil, target, err
		}
		before = pool.n
	}
}

// ungranted says what may be wrong with a lock that no client got although no fault was on.
func ungranted(info clients.Info) string {
	text := "no client got the lock while no fault was on"
	if info.IsExec() {
		text += ": picklock lock check may say why"
	}
	return text
}

// anew ends a pool, and makes the target for one with another lease, of which as many clients hold the lock as was learnt.
func (o *Options) anew(ctx context.Context, info clients.Info, known hunt.Target, lease time.Duration, pool *Pool) (hunt.Target, error) {
	if err := pool.Close(); err != nil {
		return known, err
	}
	o.Settings.TTL = lease
	t, err := o.Target(ctx, info)
	t.Permits = known.Permits
	return t, err
}

// learn finds out whether a lock is kept for longer than a lease, and, if it says so only when it is opened, what it
// can do. again: it needs other clients than were started for it. The clients of a library's lock start sooner from
// then on, if that can be done: a hunt starts hundreds.
func (o *Options) learn(ctx context.Context, info clients.Info, target *hunt.Target, runner hunt.Runner, say func(text string)) (again bool, err error) {
	opened, slow := info.Declares || info.Library != nil, info.Library != nil && info.Library.Slow()
	if o.Learn == Everything || o.Learn == Declared && opened || slow {
		learnt := *target
		if err := learnt.Learn(ctx, runner); err != nil {
			return false, err
		}
		again = o.take(target, learnt, opened)
	}
	if slow {
		if err := info.Library.Quicken(ctx, say); err != nil {
			say(err.Error()) // the hunt is slower, and no worse
		}
	}
	return again, nil
}

// take adds to what is known of a lock what a run has found out: of one that says it when it is opened all, of any
// other that it is kept. again: it needs other clients.
func (o *Options) take(target *hunt.Target, learnt hunt.Target, opened bool) (again bool) {
	had := *target
	if opened && o.Learn != Nothing {
		*target = learnt
	}
	target.Kept = learnt.Kept && o.Learn == Everything
	target.ReleasesTwice = learnt.ReleasesTwice && o.Learn == Everything
	target.Granted, target.Overstays, target.Ungranted = learnt.Granted, learnt.Overstays, learnt.Ungranted
	return !slices.Equal(had.ClientNames(), target.ClientNames())
}

// CheckFaults says what of the kinds of fault of a hunt cannot be: each is a kind, or a
// kind on one side as kill:client or kill:server, all, or none.
func CheckFaults(faults []string) error {
	if _, err := nemesis.ParseList(faults); err != nil {
		return err
	}
	for _, f := range faults {
		kind, whom, aimed := strings.Cut(f, ":")
		if aimed && whom != "client" && whom != "server" {
			return fmt.Errorf("%s: a hunt aims by itself: give a kind, or a kind on one side, as %s:client or %s:server", f, kind, kind)
		}
	}
	return nil
}
