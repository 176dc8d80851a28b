// Package harness makes one run: cluster up, clients, nemesis, history, verdict,
// results. It connects the other packages and decides nothing that they know
// better: no fault, no lock and no anomaly has a name here.
package harness

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/workloads"
)

// ErrUsage marks options that cannot work: nothing was started.
var ErrUsage = errors.New("unusable options")

// MinTTL is the shortest lease of a run, whatever the lock keeps.
const MinTTL = 10 * time.Millisecond

// Options says what to run.
type Options struct {
	workloads.Settings
	Host
}

// Host is what a run is made on and with.
type Host struct {
	Out   string            // the run directory; "" for a new one below ./picklock-results
	Extra map[string]string // the lock's own options (clients.Info.Options)
	// Abilities are what the user says that the lock can do (clients.Options).
	Abilities map[string]string

	Locks    *clients.Table    // where Lock is found
	Backends register.Backends // where Register is found

	Again   []string // the command that makes the run again; nil: picklock's own
	Runtime Runtime
	Self    string // path of the picklock program
	NoDisks bool   // Self is another program, which serves no disks
	// NewProcesses: a client of a Testbed that a fault has harmed becomes a new process. Its lock may
	// leave something behind in its process after it was closed.
	NewProcesses bool
	Log          *slog.Logger
	Observer     Observer // may be nil
	// Interrupt cuts the run short when it is closed: it is healed, judged and reported
	// as far as it came. The end of the context abandons it instead: nothing is judged.
	Interrupt <-chan struct{}
	// Reuse keeps the servers running for the next run; nil: they end with this one.
	Reuse *Reuse
}

// Observer gets the progress of the run. Its methods are called from
// several goroutines.
type Observer interface {
	// Phase says what is being done, and until when if that is known.
	Phase(name string, until time.Time)
	// Event is one event as it arrives, clients' and nemesis's.
	Event(e history.Event)
}

// Defaults are the options' values where the user says nothing.
func Defaults() Options {
	return Options{Settings: workloads.Settings{
		Lock: "redis", Workload: "register", Fencing: "none", Register: register.Builtin, Clients: 5, Keys: 1,
		TTL: time.Second, Limit: 30 * time.Second,
	}}
}

// plan is the options after all names in them were looked up.
type plan struct {
	Options
	lock    clients.Info
	backend register.Backend
	// discipline is Fencing.
	discipline register.FencingMode
	asks       bool // the register asks the lock's servers
	// writesNothing: the clients do nothing under the lock.
	writesNothing bool
	faults        []nemesis.Spec
	bound         time.Duration
	leased        time.Duration // results.Run.Lease
	timeout       time.Duration // how long a client waits for an answer, but for a grant; 0: as workerTimeout says
	names         []string      // of the clients
	scripted      bool          // the clients carry out the programs of a scenario
	disks         bool          // the servers get disks that know what was synced
	// healing is how long before the end of the run the last fault begins to be
	// healed, and patience how much longer than that the run goes on until the lock
	// is granted once more: whether it comes back is part of the question.
	healing, patience time.Duration
}

// Check returns an error that wraps ErrUsage if the options cannot work on any
// machine.
func (o Options) Check() error {
	_, err := o.plan()
	return err
}

func (o Options) plan() (*plan, error) {
	p := &plan{Options: o}
	if err := p.resolve(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return p, nil
}

func (p *plan) resolve() (err error) {
	if p.lock, err = p.Locks.Lookup(p.Lock); err != nil {
		return err
	}
	if err := p.lock.CheckOptions(p.Extra); err != nil {
		return err
	}
	if err := p.lock.CheckAbilities(p.Abilities); err != nil {
		return err
	}
	if p.Cluster == "" {
		p.Cluster = p.lock.Cluster
	}
	if p.Cluster == "" {
		p.Cluster = "none"
	}
	discipline, err := register.ParseFencingMode(p.Fencing)
	if err != nil {
		return err
	}
	p.discipline = discipline
	if err := p.suits(); err != nil {
		return err
	}
	if p.Register == "" {
		p.Register = register.Builtin
	}
	if p.backend, err = p.Backends.Lookup(p.Register); err != nil {
		return err
	}
	if err := p.backend.Takes(discipline); err != nil {
		return err
	}
	if err := p.unlocked(); err != nil {
		return err
	}
	p.asks = discipline.Asks()
	if p.faults, err = nemesis.ParseList(p.Faults); err != nil {
		return err
	}
	p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(text string) bool { return text == nemesis.None })
	for _, spec := range p.faults {
		p.disks = p.needsDisks(spec.Kinds()...) || p.disks
	}
	return p.resolveNumbers()
}

// needsDisks reports whether the servers need picklock's own disks for one of the faults. They
// make every sync slower, so that a run without such a fault gets none.
func (p *plan) needsDisks(kinds ...string) bool {
	return p.Runtime != nil && !p.NoDisks && nemesis.Disks(&nemesis.Env{Injector: p.Runtime.Injector(), Isolated: p.Runtime.Isolated()}, kinds)
}

func (p *plan) resolveNumbers() error {
	if p.WorkTime == 0 {
		p.WorkTime = p.TTL / 20
		p.Reach = p.longest()
		if slices.Contains(p.Faults, nemesis.All) && !slices.Contains(p.Require, checker.Belief) {
			p.Overrun = workloads.Overrun
		}
	}
	for _, r := range p.Require {
		if !known(r) {
			return fmt.Errorf("--require: %w", suggest.Unknown("property", r, checker.Properties))
		}
	}
	switch {
	case p.Clients < 1 || p.Clients > 200:
		return fmt.Errorf("--clients %d: want 1 to 200", p.Clients)
	case p.Keys < 1:
		return fmt.Errorf("--keys %d: want at least 1", p.Keys)
	case p.TTL < MinTTL:
		return fmt.Errorf("--ttl %v: want at least %v", p.TTL, MinTTL)
	case p.TTL < p.lock.MinTTL:
		return fmt.Errorf("--ttl %v: lock %s keeps leases of %v or more", p.TTL, p.lock.Name, p.lock.MinTTL)
	case p.WorkTime < 0:
		return fmt.Errorf("--work-time %v is negative", p.WorkTime)
	case p.Limit < time.Second:
		return fmt.Errorf("--duration %v: want at least 1s", p.Limit)
	case p.Rate < 0 || math.IsNaN(p.Rate) || math.IsInf(p.Rate, 0):
		return fmt.Errorf("--rate %v: want sections a second, or 0 for no limit", p.Rate)
	}
	for i := range p.Clients {
		p.names = append(p.names, fmt.Sprintf("c%d", i+1))
	}
	longest := clients.LongestLease(p.Extra, p.TTL)
	p.bound = DefaultBound(longest)
	if w := p.lock.LockDelay; w != nil {
		p.bound += w(clients.Options{TTL: longest, Extra: p.Extra})
	}
	p.healing = min(max(5*p.TTL, 5*time.Second), p.Limit/3)
	if len(p.faults) == 0 {
		p.healing = 0
	}
	// Long enough to call it a deadlock if there is one.
	p.patience = p.bound + 2*p.TTL + checker.FeltAfterHeal
	return nil
}

// checkClients returns an error if an option is given for a client that does not take part, or cannot have it.
func (p *plan) checkClients() error {
	if err := clients.CheckClients(p.Extra, p.TTL, max(MinTTL, p.lock.MinTTL), p.names); err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return nil
}

// DefaultBound is the liveness bound of a run with a lease, if the user names none: how long
// clients may wait for a lock that no client holds.
func DefaultBound(ttl time.Duration) time.Duration { return max(5*ttl, 5*time.Second) }

// longest is the part of the lease that long sections last at most. Where nobody may
// believe longer than his lease lasts, they leave room for a machine that is late in
// waking them: it would be no fault of the lock.
func (p *plan) longest() float64 {
	if p.lock.Unlocked != nil {
		return 0
	}
	if slices.Contains(p.Require, checker.Belief) {
		return workloads.Reach - 0.1
	}
	return workloads.Reach
}

func known(property string) bool {
	for _, p := range checker.Properties {
		if p == property {
			return true
		}
	}
	return false
}
