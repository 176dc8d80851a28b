package hunt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// Signature identifies a counterexample: two violations with one signature are the same.
type Signature struct {
	Anomaly string   `json:"anomaly"`
	Cause   string   `json:"cause,omitempty"`
	Kinds   []string `json:"kinds"` // of fault, and on whom they fall: "pause of a client"
	// InAcquire: a fault on a client begins while that client acquires the lock. What it is granted
	// then may be over before it knows; the same fault later meets a client that knows its lease.
	InAcquire bool `json:"in_acquire,omitempty"`

	exact bool // only a run that tells the very cause shows it
	loose bool // a run that shows something alike shows it
}

// AfterLease is the cause of a stale write after expiry: the client's lease
// has ended, and the resource does not check tokens. However it is brought about, it is one
// counterexample, and fencing is its mitigation.
const AfterLease = "after-lease"

// NoFault stands for the faults of a counterexample that needs none.
const NoFault = "no fault injected"

// leaseHazard is the signature that all such stale writes share.
var leaseHazard = Signature{Anomaly: "stale-write", Cause: AfterLease}

// LeaseHazard reports whether s is a stale write after expiry, which any lease allows.
func (s Signature) LeaseHazard() bool { return s.root() == leaseHazard.root() }

// byWhatever says that s is one counterexample, whichever faults bring it about: any of them that lets the lease end. That
// a library does not report it is one omission.
func (s Signature) byWhatever() bool { return s.LeaseHazard() || s.Cause == "no-notice" }

// Class says which kind of failure s is.
func (s Signature) Class() verdict.Class {
	if s.LeaseHazard() {
		return verdict.Hazard
	}
	return verdict.Group{Name: s.Anomaly, Cause: s.Cause}.Class()
}

// Hazard reports whether s is a lease hazard.
func (s Signature) Hazard() bool { return s.Class() == verdict.Hazard }

// String is the name and the faults, for logs and errors.
func (s Signature) String() string {
	if len(s.Kinds) == 0 {
		return s.Name() + " with " + NoFault
	}
	return s.Name() + " by " + s.Takes()
}

// Name is the anomaly and its cause, without the faults.
func (s Signature) Name() string {
	if s.Cause != "" && s.Cause != s.Anomaly {
		return s.Anomaly + " (" + s.Cause + ")"
	}
	return s.Anomaly
}

// Takes lists the kinds of fault, or NoFault.
func (s Signature) Takes() string {
	if len(s.Kinds) == 0 {
		return NoFault
	}
	takes := strings.Join(s.Kinds, " and ")
	if s.InAcquire {
		takes += " during an acquire"
	}
	return takes
}

// root is the signature without the faults, and without what not every run tells of the cause.
func (s Signature) root() string {
	return s.Anomaly + "|" + verdict.GeneralCause(s.Anomaly, s.Cause)
}

// is says that another signature, of one run, shows this one.
func (s Signature) is(o Signature) bool {
	if s.loose {
		return o.alike() == s.alike()
	}
	return o.root() == s.root() && (!s.exact || o.Cause == s.Cause)
}

// alike is the same for signatures that one bug leaves in different runs: whether a grant that came too soon overlaps a
// lease or is a double grant hangs on what the run tells of the older grant, as on the answer to its release; and a counter that
// goes back gives a smaller token, or one that was given before.
func (s Signature) alike() string {
	general := verdict.GeneralCause(s.Anomaly, s.Cause)
	switch {
	case s.overlaps() && (general == "" || general == s.Anomaly):
		return verdict.Exclusion
	case verdict.Info(s.Anomaly).Property == verdict.Tokens && !s.orOverlap():
		return verdict.Tokens
	}
	return s.root()
}

// orOverlap says that tokens or exclusion are broken, and not which.
func (s Signature) orOverlap() bool {
	return s.Anomaly == "token-regression" && s.Cause == "or-overlap"
}

// loosely is the signature as any run shows it that shows something alike.
func (s Signature) loosely() Signature {
	s.loose = true
	return s
}

// precise says that not every run that shows the signature tells its cause.
func (s Signature) precise() bool { return verdict.GeneralCause(s.Anomaly, s.Cause) != s.Cause }

// within says that whatever brings s about is among what brings o about.
func (s Signature) within(o Signature) bool {
	if s.alike() != o.alike() {
		return false
	}
	if s.byWhatever() {
		return true
	}
	if len(s.Kinds) > 0 && s.InAcquire != o.InAcquire {
		return false
	}
	return s.needsNoMore(o)
}

// needsNoMore says that all kinds of fault of s are among those of o.
func (s Signature) needsNoMore(o Signature) bool {
	return !slices.ContainsFunc(s.Kinds, func(k string) bool { return !slices.Contains(o.Kinds, k) })
}

// signatures are what a verdict proves broken, the deepest cause first: of what is looked
// for, or of every required property.
func (o Options) signatures(v verdict.Verdict, s *scenarios.Scenario) []Signature {
	var out []Signature
	find := o.Find
	for _, g := range v.Groups() {
		if o.IgnoreHazards && g.Class() == verdict.Hazard {
			continue
		}
		if !g.Required && !slices.Contains(find, g.Name) {
			continue
		}
		if find != nil && !slices.Contains(find, g.Name) && !slices.ContainsFunc(g.LedTo, func(c verdict.Consequence) bool { return slices.Contains(find, c.Name) }) {
			continue
		}
		sig := Signature{Anomaly: g.Name, Cause: g.Cause, Kinds: o.Target.kindsOf(s), InAcquire: inAcquire(s)}
		if late(g) {
			sig.Anomaly, sig.Cause = leaseHazard.Anomaly, leaseHazard.Cause
		}
		sig.InAcquire = sig.InAcquire && !sig.byWhatever()
		if !slices.ContainsFunc(out, func(o Signature) bool { return o.root() == sig.root() }) {
			out = append(out, sig)
		}
	}
	return out
}

// late says that a group is no more than a write that came after its lease, or after its client's
// turn. Of sections that interleaved nobody can say that, nor of a write of which no cause is known:
// a session lock has no lease that could have ended.
func late(g verdict.Group) bool {
	known := g.Cause != "" && g.Cause != "interleaved" && g.Cause != "never-held"
	return g.Class() == verdict.Hazard && g.Property == verdict.Register && known
}

// inAcquire says that a fault on a client begins while that client acquires the lock.
func inAcquire(s *scenarios.Scenario) bool {
	return slices.ContainsFunc(s.TriggeredFaults, func(st scenarios.TriggeredFault) bool {
		on := st.When.Client
		within := st.When.Do == history.Acquire && (st.When.At == scenarios.Sent || st.When.At == scenarios.Answered)
		if st.When.Await != nil {
			on, within = st.When.Await.Client, st.When.Await.What == "waiting"
		}
		return within && (slices.Contains(st.Fault.Nodes, on) || slices.Contains(st.Fault.Peers, on))
	})
}

// kindsOf names what a schedule takes: its faults by their kind and whom they fall on, and a
// lease that is not the one that all the others have.
func (t Target) kindsOf(s *scenarios.Scenario) []string {
	out := []string{}
	if slices.Contains(t.Leases, s.TTL) {
		out = append(out, fmt.Sprintf("a lease of %v", s.TTL))
	}
	for _, st := range s.TriggeredFaults {
		k := kindWords(s, st)
		if t.partly(s, st) {
			k += " from some servers"
		}
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// partly says that a fault is on a client's links with some of several servers only.
func (t Target) partly(s *scenarios.Scenario, st scenarios.TriggeredFault) bool {
	servers := 0
	for _, name := range t.Servers {
		if slices.Contains(st.Fault.Nodes, name) || slices.Contains(st.Fault.Peers, name) {
			servers++
		}
	}
	return servers > 0 && servers < len(t.Servers) && onClient(s, st)
}

// onClient says that a client of the scenario, or one of its links, is what a fault is on.
func onClient(s *scenarios.Scenario, st scenarios.TriggeredFault) bool {
	return anyClient(s, st.Fault.Nodes) || anyClient(s, st.Fault.Peers)
}

func anyClient(s *scenarios.Scenario, nodes []string) bool {
	return slices.ContainsFunc(nodes, func(n string) bool { return slices.Contains(s.Clients, n) })
}

func kindWords(s *scenarios.Scenario, st scenarios.TriggeredFault) string {
	whom := "a server"
	if onClient(s, st) {
		whom = "a client"
	}
	register := slices.Contains(st.Fault.Nodes, "register") || slices.Contains(st.Fault.Peers, "register")
	switch st.Fault.Word {
	case "hold":
		switch {
		case register:
			return "one slow message to the resource"
		case anyClient(s, st.Fault.Peers):
			return "one slow answer"
		}
		return "one slow request"
	case "cut":
		return "a cut of " + whom
	case "flap":
		return "a flapping link of " + whom
	case "slow":
		return "a slow link of " + whom
	case "loss":
		return "a lossy link of " + whom
	case "withhold":
		if anyClient(s, st.Fault.Peers) {
			return "a lost answer"
		}
		return "a lost request"
	case "failover":
		return "a failover"
	case "disk":
		return "a disk fault of " + whom
	case "refuse":
		return "a server that refuses writes"
	case "reset":
		return "a reset connection"
	case "clock":
		return "a wrong clock of " + whom
	case "kill":
		if st.Fault.Wipe {
			return "a lost disk of " + whom
		}
		return "a crash of " + whom
	case "powerloss":
		return "a loss of power"
	case "pause":
		return "a pause of " + whom
	}
	return st.Fault.Word + " of " + whom
}
