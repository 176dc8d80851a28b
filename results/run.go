// Package results knows the run directory and all that people read of a run: the
// report, the JUnit file, the summaries. It must not know how a run is made.
package results

import (
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/workloads"
)

// Run is what run.json holds: all that is needed to understand a run and to make
// it again.
type Run struct {
	Command  []string  `json:"command"` // the arguments, to run it again
	Started  time.Time `json:"started"`
	Scenario string    `json:"scenario,omitempty"` // its name, where one was run
	// Settings are what was asked for; Register is "" for the built-in one.
	workloads.Settings
	About   string `json:"about,omitempty"`   // the lock's one-line description
	NoLock  bool   `json:"no_lock,omitempty"` // the clients share the register without one
	Kind    string `json:"kind,omitempty"`    // rw, semaphore or reentrant; "" for a mutex
	Permits int    `json:"permits,omitempty"` // of a semaphore
	// Downgrades: who has it exclusively can go on to share it.
	Downgrades bool   `json:"downgrades,omitempty"`
	Cancels    bool   `json:"cancels,omitempty"`    // its client can cancel an acquire that waits
	Several    bool   `json:"several,omitempty"`    // a client can hold several keys at once
	OwnLeases  bool   `json:"own_leases,omitempty"` // a client's lease is what this client asked for
	Emulator   string `json:"emulator,omitempty"`   // what stood in for the service, where something did
	Runtime    string `json:"runtime"`
	Nodes      []Node `json:"nodes"`
	// Leaderless is how many servers there are if none leads the others.
	Leaderless int `json:"leaderless,omitempty"`
	Servers    int `json:"servers,omitempty"` // how many there are in all; 0 in earlier runs
	// Drawn is what --faults all drew its faults from on this cluster.
	Drawn    []string          `json:"drawn,omitempty"`
	Versions map[string]string `json:"versions"` // picklock, go, and each service's own
	Machine  Machine           `json:"machine"`
	Bound    time.Duration     `json:"bound"` // the liveness bound, ns
	// Lease is the longest lease that the lock was seen to grant in other runs, ns; 0 if nothing is known of it.
	Lease time.Duration `json:"lease,omitempty"`
	// Skew is how far apart the clocks of the machines may be whose times a history from
	// elsewhere has, ns; 0 where all are of one clock.
	Skew time.Duration `json:"skew,omitempty"`
	// Fair is the longest that a client may wait while others are served, ns; 0 where nobody asked about that.
	Fair time.Duration `json:"fair,omitempty"`
	// WallSet is by how much the wall clock of this machine was set during the run, either way, and not by picklock, ns; 0: it was not.
	WallSet time.Duration `json:"wall_set,omitempty"`
	// Warnings are what makes the run prove less than its reader may think.
	Warnings []string `json:"warnings,omitempty"`
	// CutShort is how long the run lasted before it was interrupted; 0 for one that did
	// all that was asked for, Unfinished for one that goes on or was killed.
	CutShort time.Duration `json:"cut_short,omitempty"`
}

// everything is the word for every fault, of which Drawn names those that were drawn.
const everything = "all"

// Asked is what the checker has to know of what was asked of the run.
func (r Run) Asked() checker.Options {
	o := checker.Options{Require: r.Require, Bound: int64(r.Bound), NoLock: r.NoLock, TTL: int64(r.TTL), Lease: int64(r.Lease), Skew: int64(r.Skew), Fair: int64(r.Fair), Faults: r.kinds(), Renew: r.Renew, Leaderless: r.Leaderless, Servers: r.Servers, WallSet: int64(r.WallSet.Abs())}
	slices.Sort(o.Faults)
	return o
}

// kinds are the names of the faults that were asked for, one by one or all.
func (r Run) kinds() []string {
	var out []string
	for _, f := range slices.Concat(r.Faults, r.Drawn) {
		name, _, _ := strings.Cut(f, ":")
		if f != everything && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Node is one member of the run.
type Node struct {
	Name string `json:"name"`
	Role string `json:"role"` // server, client or register
	Addr string `json:"addr"`
	// External is the address of the server that the node stands for, where that ran already.
	External string `json:"external,omitempty"`
}

// Machine is where it ran.
type Machine struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel,omitempty"`
	CPUs   int    `json:"cpus"`
}
