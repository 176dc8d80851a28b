package checker

import "github.com/picklock/picklock/history"

// verb is what an operation does, outcome what became of it: history's words in
// one byte each.
type verb uint8

const (
	fNone verb = iota
	fAcquire
	fRelease
	fRenew
	fHolds
	fRead
	fWrite
	fAdd
)

func verbOf(f string) verb {
	switch f {
	case history.Acquire:
		return fAcquire
	case history.Release:
		return fRelease
	case history.Renew:
		return fRenew
	case history.Holds:
		return fHolds
	case history.Read:
		return fRead
	case history.Write:
		return fWrite
	case history.Add:
		return fAdd
	}
	return fNone
}

func (f verb) String() string {
	return [...]string{"", history.Acquire, history.Release, history.Renew, history.Holds, history.Read, history.Write, history.Add}[f]
}

type outcome uint8

const (
	tInfo outcome = iota
	tOK
	tFail
)

func outcomeOf(t history.Type) outcome {
	switch t {
	case history.OK:
		return tOK
	case history.Fail:
		return tFail
	}
	return tInfo
}

// lock is all that concerns one lock.
type lock struct {
	name     string
	grants   []*grant // by the time of their ok
	acquires []*op    // that were not granted, by invoke
	released []*op    // releases, by invoke
	ops      []*op    // reads, writes and adds, by invoke
	// What the lock said of grants: that they were in force, of those after which another one had
	// been given; and that they were not. By the time of the answer.
	claims, denials []*statement
	entries         map[*grant][]*grant // of holds that were entered again, by their first grants
	unknown         map[string]int64    // by process: when its first acquire was sent whose outcome is not known
	unanswered      []*op               // acquires whose outcome is not known, by their invokes
	kind
	crowds      []interval // when more clients may have had a permit than there are, if crowdsKnown
	crowdsKnown bool
	// margin is by how much two clocks can be apart that its times are of, where nothing
	// is to be taken from less than that; 0 where they are taken as they are.
	margin int64
	// longest is the longest lease of the run: a renewal may ask for it that was never answered.
	longest int64
	// shortest is the shortest lease for which the lock's grants were renewed, or its holds entered again; 0 if none says for how long.
	shortest int64
	shorter  map[*grant]holdLeases // of holds that were entered again, by their first grants, once they are asked for
	now      *occupancy            // while the events are read, nil afterwards
}

// occupancy counts who has a lock, or asks for it, while the events are read.
type occupancy struct {
	open      int // acquires
	held      int // grants, as their clients believe
	exclusive int // of those, the ones that are not shared
	// left is, of the leases that killed clients left behind, the one that runs longest, and of whom.
	left   int64
	leftBy string
}

// op is an operation: an invoke and its completion.
type op struct {
	grant     *grant // nil for an acquire that was not granted
	lock      *lock
	process   string
	value     string
	invT      int64
	endT      int64   // completion; else when the client was gone; else the history's end
	inv       int32   // position of the invoke, -1 where the history has none
	comp      int32   // position of the completion, -1 where there is none
	eff       *effect // the first one that it had in the register
	f         verb
	typ       outcome
	heldOK    bool // ok release by the grant's own process: the service confirmed it
	notHeld   bool // release that failed: the lock said that its client did not hold it
	untrue    bool // what it confirmed is shown false, or probably is
	failed    bool // acquire: by the client's own program, not by the lock
	cancelled bool // acquire that failed: its client had cancelled it
	busy      bool // acquire: another client had the lock when this one asked
	shares    bool // acquire: to share the lock
	// downgrades: it is an acquire that makes a shared grant of what its process has, or what that does to the grant
	// before: it releases it.
	downgrades bool
}

// grant is one successful acquire.
type grant struct {
	id, process string
	lock        *lock
	token       int64
	inv, ok     int32 // positions of the acquire's events; inv -1 where there is none
	invT, okT   int64
	// lo is the earliest instant at which the service can have granted: the
	// acquire's invoke, or since where that is later.
	lo           int64
	since, lease int64
	renewed      *renewals // nil where there is none
	unsure       *[]*op    // its client's renewals and entries whose outcome is unknown, by their invokes; nil where there is none
	release      *op       // the first one
	lost         int32
	lostT        int64

	believedEnd int64  // first of release's invoke, lost, kill, next acquire, end
	anew        *grant // the next one that its process was given, other than an entry
	n           int32  // position among the grants of its lock
	heldAt      int32  // position among those that its process holds
	contested   bool
	askedAgain  bool  // its process has asked for the lock anew since, other than as an entry
	kept        bool  // and had neither given it back, lost it, nor been killed by then
	askedT      int64 // when its process asked for the lock anew after it had been killed; never if it did not
	mode        mode
	downgraded  bool   // its client had the lock alone before, and asked to share it
	watchdog    bool   // its client's library promises to renew it by itself
	longer      int64  // by how much a clock of the service was set back meanwhile: its lease may last for that much longer
	expired     bool   // by what its library says, it was over when its client got it
	lingers     bool   // what its release ends stays taken until the lease has ended, as documented
	notifies    bool   // its client's library promises to report its loss
	under       *grant // of an entry: what its process had been given of the lock before
	first       *grant // of an entry: the grant that its hold began with

	// When its lease was certainly alive; see lease.go. One interval is all
	// that most grants have.
	one       [1]interval
	intervalN uint8
	many      *[]interval
	doubts    *[]interval // when it need not have been, by their begins; nil for never
	// promised is the end of the last promise, before a release or loss cut it.
	promised int64
}

// renewal is one ok renew.
type renewal struct {
	inv, ok   int32 // inv -1 for a renewal that the client library made by itself
	invT, okT int64
	lease     int64
	until     int64 // since + lease; 0 where it has no lease
	held      bool
	heldUntil int64 // the grant was in force until here, by the service's own word
}
