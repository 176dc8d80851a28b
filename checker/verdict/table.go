package verdict

import (
	"math"
	"slices"
)

// AnomalyInfo is an anomaly's line in the table: all that is known of it besides how it is
// found.
type AnomalyInfo struct {
	Name     string `json:"name"`
	Title    string `json:"title,omitempty"` // how it is shown, where that is not its name
	Property string `json:"property"`
	Doc      string `json:"doc"` // one line
	// Depth is its position in the order in which anomalies bring one another about: what
	// has a smaller one can be the cause.
	Depth int `json:"-"`
	// Hazard: any lease has it under a long enough pause (see Class).
	Hazard bool `json:"-"`
	// NoLock: clients that share the register without a lock can have it.
	NoLock bool `json:"-"`
	// SkewInvariant: it rests on its processes' times alone, so that no clock skew between
	// machines explains it where these processes are on one.
	SkewInvariant bool `json:"-"`
	// OwnStep: see Cause.OwnStep.
	OwnStep bool `json:"-"`
	// Causes are what an Anomaly's Cause can be besides "".
	Causes []Cause `json:"-"`
	// From is where a deeper anomaly that led to it is looked for, whatever its cause.
	From []Origin `json:"-"`
}

// Cause is how an anomaly came about.
type Cause struct {
	Name string
	Says string // in words
	Bug  bool   // the lock's doing: what comes of it is no lease hazard
	// Resource: only the resource, or a client that reports wrongly what it answered, can have done it, whatever the lock did.
	Resource bool
	// OwnStep: one step of the lock itself is wrong. A fault at most makes it show, and is no other bug if it is another.
	OwnStep bool
	// Precise: one record of a bug tells that this was the cause, and another one may not tell more than the
	// anomaly's general cause.
	Precise bool
	From    []Origin
}

// Origin says which deeper anomalies lead to one, and how it is known which of them did.
type Origin struct {
	Link      Link
	Anomalies []string
}

// Link is what an anomaly and the deeper one have in common.
type Link uint8

// The links. Those of a lock connect to its first such anomaly.
const (
	SameGrants    Link = iota // two of their grants
	SameNewest                // the newest grant, which was wrong towards another client
	SameThird                 // a grant that both of theirs met, each time wrongly
	SameMisled                // an older grant of it, of which the lock told its client falsely that it was in force
	SameWrite                 // the stale write itself
	SameRelease               // the grant that was released
	SameLock                  // the lock
	SameReason                // the lock, the cause, and the very fault that is suspected, where one of these is known
	PerhapsByLock             // the lock, and no event says that this one led to it
	PerhapsSince              // as PerhapsByLock, and it came first
)

var (
	byRelease = Cause{Name: "wrong-release", Says: "a client released another client's lock", Bug: true, OwnStep: true,
		From: []Origin{{SameGrants, []string{"wrong-release"}}, {SameLock, []string{"wrong-release"}}}}
	// freedForGood is byRelease of a lock that promises no lease: only if the next client had waited, or asked later, a record
	// tells that it was the release.
	freedForGood = Cause{Name: byRelease.Name, Says: byRelease.Says, Bug: true, OwnStep: true, Precise: true, From: byRelease.From}
	// metUnderLock is what lets two clients in at once.
	metUnderLock = Origin{SameGrants, []string{"wrong-release", "granted-early", "double-grant"}}
	// metUnderAnother is what lets three clients in one after the other, each before it was time.
	metUnderAnother = Origin{SameThird, []string{"granted-early", "double-grant"}}

	// toldWrongly is a lock that told a client that it holds it, or held it, which lets in two at once.
	toldWrongly = Origin{SameGrants, []string{"false-belief"}}
	// toldBefore is the same, and a third client comes in later while the first relies on what it was told.
	toldBefore = Origin{SameMisled, []string{"false-belief"}}

	outlived    = Cause{Name: "lease-outlived", Says: "the client outlived its lease and did not notice"}
	letEnd      = Cause{Name: "not-renewed", Says: "the client's library, which renews leases by itself, let the lease end", Bug: true}
	unreported  = Cause{Name: "no-notice", Says: "the client's library, which promises to report a loss, did not report it", Bug: true}
	whileLeased = Cause{Name: "granted-early", Says: "the service granted the lock while the earlier lease had time left", Bug: true,
		From: []Origin{metUnderLock, {SameNewest, []string{"granted-early", "double-grant"}}, {PerhapsByLock, []string{"granted-early"}}}}
	moreFreed   = Cause{Name: "freed-more", Says: "a release freed more of the lock than its client gave back", Bug: true, OwnStep: true, Precise: true}
	expiresWith = Cause{Name: "shared-expiry", Says: "other clients' shares of the lock ended with the lease of an earlier client", Bug: true, OwnStep: true, Precise: true}
	gapOfSteps  = Cause{Name: "downgrade-gap", Says: "a writer that went on to read lost the lock in between", Bug: true, OwnStep: true, Precise: true, From: []Origin{toldWrongly, toldBefore}}
	counterBack = Cause{Name: "went-back", Says: "the counter of the lock's tokens went back", Bug: true, Precise: true}
	neverHeld   = Cause{Name: "never-held", Says: "the client acted without a grant"}
	unsaid      = Cause{From: []Origin{metUnderLock, metUnderAnother}} // no cause is known
	ofWrites    = []Cause{
		outlived, letEnd, unreported, whileLeased, neverHeld, unsaid,
		{Name: "delayed", Says: "the write was sent in time and carried out after another client had been granted the lock"},
		{Name: "renewed-late", Says: "the lease had ended, and was renewed after another client had been granted the lock", Bug: true, OwnStep: true,
			From: []Origin{toldWrongly}},
		{Name: "after-release", Says: "the write was carried out after its client had released the lock"},
		{Name: "given-back", Says: "the client wrote after it had given the lock back"},
		{Name: "ignored-loss", Says: "the client had learnt that it lost the lock, and wrote"},
		{Name: "interleaved", Says: "two critical sections interleaved", From: []Origin{metUnderLock, metUnderAnother}},
	}
)

// table is the one table of anomalies, by property. An anomaly is a line here, a file in
// package checker that finds it, histories in checker/testdata, and a paragraph in
// docs/reference/anomalies.md.
var table = []AnomalyInfo{
	{Name: "granted-early", Title: "overlapping leases", Property: Exclusion, Depth: 6, SkewInvariant: true,
		Doc: "the service granted the lock while another grant's lease certainly had time left",
		Causes: []Cause{byRelease, moreFreed, expiresWith, gapOfSteps,
			{Name: "granted-early", Says: whileLeased.Says, Bug: true, From: []Origin{toldWrongly, toldBefore, {PerhapsSince, []string{"wrong-release"}}}},
			{Name: "rounded", Says: "the earlier lease ended less than a millisecond before its time", Bug: true, OwnStep: true, From: []Origin{toldWrongly, toldBefore}},
			{Name: "counted-late", Says: "the lease was counted from the answer, or from a later request, and not from the request that took or renewed the lock", Bug: true, OwnStep: true, Precise: true, From: []Origin{toldWrongly, toldBefore}},
			{Name: "renewed-ended", Says: "the lease had ended when it was renewed, and the lock answered as if it had not", Bug: true, OwnStep: true, Precise: true, From: []Origin{toldWrongly, toldBefore}},
			{Name: "ended-early", Says: "the lease ended before its time, or a client that waited took the lock over before that", Bug: true, OwnStep: true, Precise: true, From: []Origin{toldWrongly, toldBefore}},
			{Name: "confirmed-lost", Says: "the lock confirmed a release, sent after the other grant, as if its client had held the lock until then", Bug: true, OwnStep: true, Precise: true, From: []Origin{toldWrongly, toldBefore}},
			{Name: "late-release", Says: "a release of an earlier grant came late, and may have freed the lock", Bug: true, OwnStep: true, From: []Origin{toldWrongly, toldBefore}},
			{Name: "own-release", Says: "an earlier release of the same client had no known outcome, and may have freed its next grant", Bug: true, OwnStep: true, Precise: true, From: []Origin{toldWrongly, toldBefore}},
			{Name: "renewed-meanwhile", Says: "a renewal that was under way when another client was granted the lock was answered as if its client still had it", Bug: true, OwnStep: true, From: []Origin{toldWrongly, toldBefore}},
			{Name: "given-up", Says: "another client had given up waiting just then, and the one that waited may have taken that for its own turn", Bug: true, OwnStep: true, From: []Origin{toldWrongly, toldBefore}},
			{Name: "other-key", Says: "a release of another lock, whose name begins this one's or begins with it, may have freed it", Bug: true, OwnStep: true, Precise: true, From: []Origin{toldWrongly, toldBefore}},
			{Name: "minority", Says: "a client was granted the lock, or renewed its lease, while a majority of the servers could not answer it", Bug: true, OwnStep: true, Precise: true, From: []Origin{toldWrongly, toldBefore}},
			{Name: "no-server", Says: "a client was granted the lock while no server could answer it", Bug: true, OwnStep: true, Precise: true, From: []Origin{toldWrongly, toldBefore}},
			{Name: "renewed-early", Says: "a lease that had ended was renewed while another client's lease had time left", Bug: true, OwnStep: true, From: []Origin{toldWrongly, toldBefore}}}},
	{Name: "double-grant", Property: Exclusion, Depth: 7,
		Doc: "the service granted the lock while another client held it, and no lease, fault or release excuses that",
		Causes: []Cause{freedForGood, moreFreed, letEnd, gapOfSteps,
			{Name: "counted-late", Says: "the client's library, which renews leases by itself, counted the lease from the answer, which came late", Bug: true, OwnStep: true, Precise: true},
			{Name: "given-up", Says: "another client had given up waiting just then, and the one that waited may have taken that for its own turn", Bug: true, OwnStep: true},
			{Name: "no-server", Says: "a client was granted the lock while no server could answer it", Bug: true, OwnStep: true, Precise: true},
			{Name: "own-release", Says: "an earlier release of the same client had no known outcome, and may have freed its next grant", Bug: true, OwnStep: true, Precise: true},
			{Name: "late-release", Says: "a third client's release of an earlier grant came late, and may have freed the lock", Bug: true, OwnStep: true}}},
	{Name: "wrong-release", Property: Exclusion, Depth: 1, OwnStep: true,
		Doc: "the release of a client that no longer held the lock freed another client's lock",
		Causes: []Cause{
			{Name: "renewed-late", Says: "a late renewal may have taken the lock back, which the release then freed", Bug: true, OwnStep: true, Precise: true}}},
	{Name: "false-belief", Property: Exclusion, Depth: 2, SkewInvariant: true,
		Doc: "the lock answered a client that it holds the lock, although another client had been granted it since",
		Causes: []Cause{
			{Name: "held", Says: "asked whether its client holds the lock, it said yes", Bug: true, OwnStep: true},
			{Name: "extended", Says: "it extended a lease that its client had lost", Bug: true, OwnStep: true},
			{Name: "released", Says: "it confirmed the release of a lock that its client had lost", Bug: true, OwnStep: true,
				From: []Origin{{SameRelease, []string{"wrong-release"}}, {PerhapsByLock, []string{"wrong-release"}}}}}},
	{Name: "revoked-early", Property: Exclusion, Depth: 3,
		Doc: "the service ended a lease that certainly had time left, and granted the lock to no client",
		Causes: []Cause{
			{Name: "wrong-release", Says: "another client's release freed the lock", Bug: true, OwnStep: true},
			{Name: "late-release", Says: "a delayed release of another client may have freed the lock", Bug: true, OwnStep: true},
			{Name: "noticed", Says: "its library's own report says so", Bug: true}}},
	{Name: "false-loss", Property: Exclusion, Depth: 15,
		Doc: "the lock answered a client that it had lost the lock, and confirmed afterwards that the client had held it",
		Causes: []Cause{
			{Name: "noticed", Says: "its library reported a loss that was none", Bug: true, OwnStep: true},
			{Name: "not-held", Says: "asked whether its client holds the lock, it said no", Bug: true, OwnStep: true},
			{Name: "not-extended", Says: "it refused to extend a lease that its client had", Bug: true, OwnStep: true}}},
	{Name: "expired-grant", Title: "a grant that is over", Property: Exclusion, Depth: 17, OwnStep: true,
		Doc: "a library granted the lock to a client when it was over by what the library itself says, with no fault on"},
	{Name: "two-holders", Title: "overlapping holders", Property: Belief, Depth: 14, Hazard: true, SkewInvariant: true,
		Doc:    "two clients believed at once that they held the lock",
		Causes: []Cause{outlived, letEnd, unreported, whileLeased, neverHeld, unsaid}},
	{Name: "token-regression", Property: Tokens, Depth: 4, SkewInvariant: true,
		Doc:    "a later grant carries a smaller token than an earlier one",
		Causes: []Cause{counterBack, {Name: "or-overlap", Says: "a later grant carries the smaller token, or two clients held the lock at once", Bug: true, Precise: true}}},
	{Name: "token-reuse", Property: Tokens, Depth: 5,
		Doc:    "two grants carry the same token",
		Causes: []Cause{counterBack}, From: []Origin{{SameNewest, []string{"token-regression"}}, {SameReason, []string{"token-regression"}}}},
	{Name: "stale-write", Property: Register, Depth: 8, Hazard: true, Causes: ofWrites,
		Doc: "a write of an older grant was accepted after a newer grant had touched the resource"},
	{Name: "lost-update", Property: Register, Depth: 9, Hazard: true, NoLock: true, Causes: ofWrites,
		From: []Origin{{SameWrite, []string{"stale-write"}}, {SameGrants, []string{"stale-write"}}},
		Doc:  "an acknowledged update was overwritten by a client that had not seen it"},
	{Name: "nonlinearizable", Property: Register, Depth: 10, NoLock: true,
		Doc: "what the clients saw contradicts every possible order of the register's operations",
		Causes: []Cause{
			{Name: "read", Says: "a read did not show the latest write", Resource: true},
			{Name: "unwritten", Says: "a read showed what was never written", Resource: true},
			{Name: "order", Says: "operations were carried out in another order than they were answered in", Resource: true},
			{Name: "vanished", Says: "an acknowledged write is not in the register's log", Resource: true},
			{Name: "unlogged", Says: "a read that was answered is not in the register's log", Resource: true},
			{Name: "failed", Says: "an operation that was reported as failed was carried out", Resource: true},
			{Name: "twice", Says: "an operation was carried out twice", Resource: true}}},
	{Name: "false-rejection", Property: Register, Depth: 11,
		Doc: "the register refused the rightful holder",
		Causes: []Cause{
			{Name: "token-regression", Says: "the lock's tokens are out of order", Bug: true,
				From: []Origin{{SameLock, []string{"token-regression"}}}},
			{Name: "no-token", Says: "the grant has no token, which the resource may have asked for", Bug: true},
			{Resource: true}}},
	{Name: "deadlock", Property: Liveness, Depth: 12,
		Doc: "a lock that was wanted, and held by no live client, was not granted within the bound, with no fault on",
		Causes: []Cause{
			{Name: "lost-wake-up", Says: "the lock was free for another client, and the one that waited was not let in", OwnStep: true, Precise: true},
			{Name: "own-again", Says: "the lock was granted at once to the client that had it last, and to no other", OwnStep: true},
			{Name: "crashed-holder", Says: "the last holder was killed and had not released the lock"},
			{Name: "lost-acquire", Says: "nobody knows what came of a later acquire, which may have taken the lock"},
			{Name: "given-up", Says: "a client had given up waiting, and nobody who asked after that was granted the lock", Precise: true},
			{Name: "cancelled", Says: "a client had cancelled its acquire, and nobody who asked after that was granted the lock", Precise: true},
			{Name: "lost-release", Says: "the release of the last holder failed, or nobody knows what came of it"},
			{Name: "lost-hold", Says: "the lock had answered the last holder that it no longer held it"},
			{Name: "never-granted", Says: "no lock was granted in the whole record, with no fault injected"}}},
	{Name: "not-freed", Title: "a released lock that stays taken", Property: Liveness, Depth: 16, OwnStep: true,
		Doc:    "a lock stayed taken after its release was confirmed, for as long as the lease that was given back",
		Causes: []Cause{{Name: "crashed-holder", Says: "a client that shared the lock had been killed, and its own lease was over"}}},
	{Name: "starvation", Property: Liveness, Depth: 13,
		Doc: "a client waited longer than is fair while others were granted the lock (only with --fair)"},
}

// OwnStep says that one step of the lock itself is wrong, whichever fault makes it show.
func (a *Anomaly) OwnStep() bool {
	line := info(a.Name)
	if line == nil {
		return false
	}
	c := line.cause(a.Cause)
	return line.OwnStep || c != nil && c.OwnStep
}

// Anomalies lists the anomalies that a verdict can hold, by property.
func Anomalies() []AnomalyInfo { return slices.Clone(table) }

// Info is an anomaly's line in the table; of a name that the table lacks, one with nothing
// but the name, which comes last.
func Info(name string) AnomalyInfo {
	if line := info(name); line != nil {
		return *line
	}
	return AnomalyInfo{Name: name, Depth: math.MaxInt}
}

func info(name string) *AnomalyInfo {
	i := slices.IndexFunc(table, func(a AnomalyInfo) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &table[i]
}

// cause is the line's entry of that name, nil if it has none.
func (a *AnomalyInfo) cause(name string) *Cause {
	i := slices.IndexFunc(a.Causes, func(c Cause) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &a.Causes[i]
}

// GeneralCause is the cause of an anomaly as every record of its bug tells it: the cause itself or, if that is precise,
// the cause that a record names which does not tell it.
func GeneralCause(anomaly, cause string) string {
	line := info(anomaly)
	if line == nil {
		return cause
	}
	if c := line.cause(cause); c == nil || !c.Precise {
		return cause
	}
	if line.cause(anomaly) != nil {
		return anomaly
	}
	return ""
}

// origins is where to look for what led to an anomaly: what is certain before what is likely.
func (a *Anomaly) origins() []Origin {
	line := info(a.Name)
	if line == nil {
		return nil
	}
	var out []Origin
	if c := line.cause(a.Cause); c != nil {
		out = slices.Clone(c.From)
	}
	out = append(out, line.From...)
	slices.SortStableFunc(out, func(x, y Origin) int { return int(x.Link/PerhapsByLock) - int(y.Link/PerhapsByLock) })
	return out
}

// CauseWords says in words how the anomaly came about; "" if no cause is known.
func (a *Anomaly) CauseWords() string {
	if line := info(a.Name); line != nil {
		if c := line.cause(a.Cause); c != nil {
			return c.Says
		}
	}
	return ""
}

// Shown is how an anomaly is named where people read it: by its title, where it has one, and
// its name.
func Shown(anomaly string) string {
	if title := Info(anomaly).Title; title != "" {
		return title + " (" + anomaly + ")"
	}
	return anomaly
}

// ShownProperty is how a property is named where people read it.
func ShownProperty(name string) string {
	if name == Belief {
		return Info("two-holders").Title
	}
	return name
}
