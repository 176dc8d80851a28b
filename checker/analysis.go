package checker

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
)

// analysis is a whole history, taken apart. Once built nothing changes it any more: the
// finders and the judges read it, and nothing of each other.
type analysis struct {
	opt      Options
	began    int64   // time of the first event
	last     int64   // time of the last event: the end of what is known
	locks    []*lock // by name
	ids      *names
	faults   *faultLog
	refusals refusals
	// failed says which clients' own programs failed by themselves; "" for none.
	failed string
	asked  renewalsAsked
	// maxLease is the longest lease of the run.
	maxLease int64
	// candidates are those of givenBy, by lock.
	candidates map[*lock]*candidates
	evidence   evidence
	tokens     tokens
	wentBack   wentBack
	holdRules  holdRules
	overlaps   overlaps
	renews     renewHabits
	suspects   suspects
	freeing    freeing
	gaps       gaps
	gaveUp     gaveUp
	cutShort   map[*grant]bool // see overlaps.cutShort
	waits      *waitTimes
	log        *registerLog // nil where there is none
	register   registerFacts
	stats      Stats // all but what depends on the verdict
	clocks     clocks
	// unlocked says that the clients shared the register without a lock: the run was one, or the history has a register's log and
	// nothing of a lock.
	unlocked bool
	limit    *limit
	cut      bool // the time was over before all of this was known
}

// analyse takes a whole input.
func analyse(ctx context.Context, in Input) *analysis {
	r := newReader()
	ev := in.Events
	if !slices.IsSortedFunc(ev, byTime) {
		ev = slices.Clone(ev)
		slices.SortStableFunc(ev, byTime)
	}
	for i := range ev {
		r.readEvent(&ev[i])
	}
	for i := range in.Effects {
		r.addEffect(&in.Effects[i])
	}
	return r.analysis(ctx, in.Options)
}

func byTime(a, b history.Event) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Index, b.Index))
}

// defaultBound is what Options.Bound is where it is not said.
const defaultBound = 5e9

// analysis draws together what is known once all has been read. The reader is of no
// more use then. Where ctx ends meanwhile, the analysis is cut short.
func (r *reader) analysis(ctx context.Context, opt Options) *analysis {
	if opt.Bound <= 0 {
		opt.Bound = defaultBound
	}
	an := &analysis{opt: opt, waits: &r.waits, began: r.began, last: r.last, ids: &r.names, clocks: r.clocks(opt.Skew), limit: &limit{ctx: ctx}}
	if opt.widened {
		widenFaults(r.faults.list, opt.Skew)
		opt.Bound += 4 * opt.Skew // each end of a wait and of what ends it may be that near
		if opt.TTL > 0 {
			opt.TTL = max(1, opt.TTL-2*opt.Skew)
		}
		an.opt = opt
	}
	if opt.WallSet > 0 {
		opt.Bound += 2 * opt.WallSet // leases, which are shortened, may have ended so much later, too
		if opt.TTL > 0 {
			opt.TTL = max(1, opt.TTL-opt.WallSet)
		}
		an.opt = opt
	}
	an.faults = newFaultLog(r.faults.list, r.last, r.names.isClient)
	an.failed = r.failures.unexcused(an.faults.list) // by begin
	an.refusals = r.refusals
	an.asked = r.asked
	an.evidence = evidence{r.refs, an.faults}
	an.stats = Stats{
		Events: r.seen, Duration: r.last, Grants: r.grants, FirstGrant: r.first,
		Faults: r.faults.counts, Stalls: r.faults.stalls,
	}
	r.closePending()
	an.locks = r.sortedLocks()
	var doubted map[*lock]bool
	if opt.widened {
		doubted = an.widen()
	}
	an.shorten(opt.WallSet)
	for k := range inTime(an.limit, an.locks) {
		an.complete(k)
	}
	for _, k := range an.locks {
		k.longest = an.maxLease
	}
	if an.limit.ended() {
		return an.stopped()
	}
	an.unlocked = (opt.NoLock || len(r.effects) > 0) && r.grants == 0 && !speaksOfLock(an.locks)
	an.stats.NoLock = an.unlocked
	if an.unlocked {
		an.stats.Contested = contestedUpdates(an.locks)
		if len(r.effects) > 0 {
			syntheticGrants(r.locks, an.locks, r.effects)
		}
	}
	an.log = join(r.effects, an.locks, an.ids, opt.Skew > 0)
	inHold(an.locks, an.log)
	if an.limit.ended() {
		return an.stopped()
	}
	for k := range inTime(an.limit, an.locks) {
		an.faults.lengthen(k)
	}
	an.tokens = newTokens(an.locks)
	an.tokens.doubted = doubted
	an.wentBack = newWentBack(&an.tokens, an.faults)
	for k := range inTime(an.limit, an.locks) {
		if k.mutex() {
			an.dropFalseConfirmations(k)
		}
	}
	an.holdRules = holdRules{opt.TTL, an.faults}
	an.renews = renewHabitsOf(an.locks)
	an.overlaps = newOverlaps(an.locks, &an.holdRules, &an.tokens, an.faults)
	if opt.widened {
		an.tokens.doubtJoint(an.locks, opt.Skew)
		an.overlaps.wrong = wrongReleases{} // by whose release, only the order of nearby events says
	} else {
		an.tokens.findJoint(an.locks, &an.overlaps)
	}
	if an.limit.ended() {
		return an.stopped()
	}
	an.suspects = newSuspects(an)
	if an.limit.ended() {
		return an.stopped()
	}
	an.freeing = newFreeing(&an.overlaps, &an.suspects)
	an.gaps = newGaps(&an.overlaps, an.faults)
	an.gaveUp = gaveUp{}
	an.cutShort = an.overlaps.cutShort()
	an.register = newRegisterFacts(an.log, an.locks, an.ids)
	an.countRegister()
	return an
}

// stopped is an analysis that was not done to its end: it decides nothing.
func (an *analysis) stopped() *analysis {
	an.cut = true
	return an
}

// closePending files what was still under way when the history ended.
func (r *reader) closePending() {
	for _, p := range r.names.All() {
		p.closeAcquire()
		p.Pairing, p.latest, p.held = history.Pairing[*op]{}, latestGrants{}, nil
	}
}

func (r *reader) sortedLocks() []*lock {
	var out []*lock
	for _, k := range r.locks {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b *lock) int { return strings.Compare(a.name, b.name) })
	return out
}

// complete ends what of a lock had no end when the history did.
func (an *analysis) complete(k *lock) {
	k.now = nil
	sortBy(k.acquires, func(o *op) int32 { return o.inv })
	for _, o := range k.released {
		an.endOpen(o)
	}
	for _, list := range [][]*op{k.acquires, k.ops, k.released} {
		for _, o := range list {
			if o.endT == never {
				o.endT = an.last
			}
			if o.typ == tInfo {
				an.stats.Unknown++
			}
		}
	}
	k.noteUnknown()
	k.linkOwn()
	k.noteShortest()
	an.maxLease = max(an.maxLease, an.opt.Lease)
	for i, g := range k.grants {
		g.n = int32(i)
		g.believedEnd = min(g.believedEnd, an.last-an.margin()+1) // at the last instant, too
		g.findAlive()
		if !k.mutex() {
			g.token = 0 // who may hold the lock together needs no order
		}
		an.maxLease = max(an.maxLease, g.lease)
		for _, r := range g.renewals() {
			an.maxLease = max(an.maxLease, r.lease)
		}
		if g.contested {
			an.stats.Contested++
		}
	}
}

// countRegister counts what was done to the register: by its log, or by the clients' operations.
func (an *analysis) countRegister() {
	s := &an.stats
	if log := an.log; log != nil {
		s.Writes, s.Rejected = log.writes, len(log.refused)
		s.Acknowledged, s.LostUpdates = an.register.acknowledged, an.register.lostUpdates
		return
	}
	for _, k := range an.locks {
		for _, o := range k.ops {
			switch {
			case o.typ == tFail:
				s.Rejected++
			case o.typ == tOK && o.f != fRead:
				s.Writes++
				if o.f == fAdd {
					s.Acknowledged++
				}
			}
		}
	}
}
