// Package testbeds lets a hunt run on real servers: it knows which testbeds a lock needs and
// gives them to the search as runners. It must not know what the search does with them.
package testbeds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/workloads"
)

// Options says what testbeds are for.
type Options struct {
	Settings  workloads.Settings // Lock, Cluster, Fencing, TTL (0: as short as it goes), IgnoreLost, Faults: kinds
	Extra     map[string]string
	Abilities map[string]string

	Runtime     string
	ClientImage string
	Self        string // path of the picklock program
	Dir         string // their logs and data go below it
	// Keys is how the names of all keys begin where the testbeds share servers with each
	// other or with another program; "" where each has its own.
	Keys string

	// AsCarried: the number of runs side by side is only the most there may be; there are as many as the
	// processors carry.
	AsCarried bool
	// Learn is what a run before the search may find out: the space depends on it.
	Learn Learning

	chosen         bool // the lease is not what the user named
	cold           bool // the clients' runtime takes long to start
	besideOfLarger int  // see testbed
}

// Learning is what a first run may find out of a lock.
type Learning int

const (
	// Everything is what the lock declares when it is opened, and what it does.
	Everything Learning = iota
	// Declared is for one of several processes that run parts of the same space: none may have another one by
	// what it measures.
	Declared
	// Nothing is for a space that somebody has numbered before any lock was open.
	Nothing
)

// shortest is the lease of a hunt where the lock keeps so short a one: long enough that
// what this machine does late is a small part of it.
const shortest = 250 * time.Millisecond

// Target is what is known of the lock before anything is run.
func (o *Options) Target(ctx context.Context, info clients.Info) (hunt.Target, error) {
	able := info
	if info.Declares && len(o.Abilities) > 0 { // what the program itself declares is not known before it runs
		a, err := clients.Abilities{}.With(o.Abilities)
		if err != nil {
			return hunt.Target{}, fmt.Errorf("%w: %w", harness.ErrUsage, err)
		}
		able = info.With(a)
	}
	s, usual := &o.Settings, harness.Defaults()
	s.Keys, s.Limit, s.Workload = usual.Keys, usual.Limit, harness.WorkloadFor(able)
	if s.Cluster == "" {
		s.Cluster = info.Cluster
	}
	var def *compose.Definition
	if s.Cluster != "" && s.Cluster != "none" {
		var err error
		if def, err = compose.Load(ctx, s.Cluster); err != nil {
			return hunt.Target{}, fmt.Errorf("%w: %w", harness.ErrUsage, err)
		}
	}
	if s.TTL == 0 {
		s.TTL, o.chosen = max(shortest, shortestLease(info, def)), true
		if info.Library != nil {
			s.TTL = max(s.TTL, info.Library.Cold)
		}
	}
	var leases []time.Duration
	if o.chosen {
		leases = uneven(s.TTL, info.LeaseUnit)
	}
	if info.Library == nil {
		o.besideOfLarger = besideOfLarger
	}
	o.cold = info.Library != nil && info.Library.Cold > 0
	if s.Fencing == "" {
		s.Fencing = "none"
	}
	t := hunt.Target{Lock: info.Name, Fencing: s.Fencing, TTL: s.TTL, Leases: leases, IgnoreLost: s.IgnoreLost, Extra: o.Extra, Holds: able.Holds, Permits: able.Permits(o.Extra)}
	t.Other, t.Unrenewed = able.Other(o.Extra)
	t.Mixed = able.MixedOf(hunt.FirstClient, o.Extra)
	t.Reentrant, t.Shared, t.Downgrades, t.Cancels, t.Several = able.Kind == clients.Reentrant, able.Kind == clients.ReadWrite, able.Downgrades, able.Cancels, able.Several
	if s.Cluster != info.Cluster {
		t.Cluster = s.Cluster
	}
	if o.Runtime != "local" {
		t.Runtime = o.Runtime
	}
	if def != nil {
		for _, srv := range def.Servers() {
			t.Servers = append(t.Servers, srv.Name)
			t.Roles = t.Roles || srv.Spec.Leader != nil && len(def.Servers()) > 1
		}
		t.External = len(def.External()) > 0
		t.Unable = unable(def)
	}
	if len(s.Faults) > 0 && !slices.Contains(s.Faults, nemesis.All) {
		t.Kinds = s.Faults
	}
	return t, nil
}

// ShortestLease is the shortest lease that a lock keeps on a cluster: its own or, if nobody has said that, the servers'.
func ShortestLease(ctx context.Context, info clients.Info, cluster string) (time.Duration, error) {
	if !unsaid(info) || cluster == "" || cluster == "none" {
		return info.MinTTL, nil
	}
	def, err := compose.Load(ctx, cluster)
	return shortestLease(info, def), err
}

// shortestLease is ShortestLease on a cluster that is loaded; nil for none.
func shortestLease(info clients.Info, def *compose.Definition) time.Duration {
	if unsaid(info) && def != nil {
		return def.ShortestLease()
	}
	return info.MinTTL
}

// unsaid says that nobody has said which leases a lock keeps: it is a user's.
func unsaid(info clients.Info) bool { return info.MinTTL == 0 && info.Library == nil }

// unable are the faults that a cluster can never do, and why, as Target.Unable has them.
func unable(def *compose.Definition) map[string]string {
	out := map[string]string{"failover": nemesis.NoReplicas, "refuse": nemesis.NoRefusal}
	if why := def.NoDisk(); why != "" {
		out["disk"], out["powerloss"] = why, why
	}
	for _, s := range def.Servers() {
		if s.Spec.Promote != nil {
			delete(out, "failover")
		}
		if s.Spec.Refuse != nil {
			delete(out, "refuse")
		}
		if why := s.Spec.NeedsData; why != "" {
			out[hunt.WipeFault] = why
		}
	}
	return out
}

// uneven are leases, beside the usual one, that are no whole number of seconds: a lock may
// well drop what is beyond the second. Where the service itself rounds leases, there is no such one.
func uneven(usual, unit time.Duration) []time.Duration {
	lease := max(time.Second, usual.Truncate(time.Second)) + time.Second/2
	if unit > 0 && lease%unit != 0 {
		return nil
	}
	if lease == usual || lease > longestLease+time.Second/2 {
		return nil // the runs would last too long
	}
	return []time.Duration{lease}
}

// Pool is the testbeds of one hunt.
type Pool struct {
	o      Options
	target hunt.Target

	// What is run on shared testbeds, by so many runs as limit lets.
	limit  *limit
	shared *testbed      // for what strikes only clients
	own    chan *testbed // each for one run at a time
	short  atomic.Bool   // since the last look a run had to wait for one of these
	unlook context.CancelFunc
	looks  sync.WaitGroup

	mu       sync.Mutex
	ownMade  int   // testbeds of own
	ungrown  error // why there are no more of them
	testbeds []*testbed
	n        int
}

// NewPool prepares testbeds. None runs before it is opened.
func NewPool(o Options, t hunt.Target) *Pool { return &Pool{o: o, target: t} }

// Open starts testbeds for n runs side by side, or for as many up to that as the processors carry.
func (p *Pool) Open(ctx context.Context, n int) ([]hunt.Runner, error) {
	if n == 1 || p.o.Runtime != "local" {
		return p.openApart(ctx, n)
	}
	first := n
	if p.o.AsCarried {
		first = min(n, p.o.apart(p.target))
	}
	p.limit = newLimit(first, n)
	var err error
	if p.shared, err = p.prepare(p.o.Settings, p.o.Extra, n); err != nil {
		return nil, err
	}
	// Those for schedules that strike a server are started when the first of these comes.
	few := min(n, p.o.apart(p.target))
	p.own = make(chan *testbed, min(n, mostApart*few))
	for range few {
		if err := p.addOwn(); err != nil {
			return nil, err
		}
	}
	if err := p.shared.start(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if p.o.AsCarried {
		look, unlook := context.WithCancel(context.WithoutCancel(ctx))
		p.unlook = unlook
		p.looks.Go(func() { p.limit.watch(look, p.grow) })
	}
	runners := make([]hunt.Runner, n)
	for i := range runners {
		runners[i] = &runner{pool: p}
	}
	return runners, nil
}

// mostApart is how many times as many testbeds with servers of their own there may be as there are at first.
const mostApart = 2

// addOwn prepares one more testbed with servers of its own.
func (p *Pool) addOwn() error {
	l, err := p.prepare(p.o.Settings, p.o.Extra, 1)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.ownMade++
	p.mu.Unlock()
	p.own <- l
	return nil
}

// grow adds a testbed with servers of its own where a run had to wait for one. It is called while there is room for that.
func (p *Pool) grow() {
	p.mu.Lock()
	full := p.ownMade == cap(p.own) || p.ungrown != nil
	p.mu.Unlock()
	if !p.short.Swap(false) || full {
		return
	}
	if err := p.addOwn(); err != nil {
		p.mu.Lock()
		p.ungrown = err
		p.mu.Unlock()
	}
}

// openApart starts testbeds with one set of clients each, side by side.
func (p *Pool) openApart(ctx context.Context, n int) ([]hunt.Runner, error) {
	over := make(chan failure, n)
	for range n {
		go func() {
			l, err := p.open(ctx, p.o.Settings, p.o.Extra)
			over <- failure{l, err}
		}()
	}
	var runners []hunt.Runner
	var all []failure
	for range n {
		o := <-over
		all, runners = append(all, o), append(runners, o.testbed)
	}
	if err := once(all, n); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return runners, nil
}

func (p *Pool) open(ctx context.Context, s workloads.Settings, extra map[string]string) (*testbed, error) {
	l, err := p.prepare(s, extra, 1)
	if err != nil {
		return l, err
	}
	return l, l.start(ctx)
}

// prepare makes a testbed that is started later.
func (p *Pool) prepare(s workloads.Settings, extra map[string]string, sets int) (*testbed, error) {
	p.mu.Lock()
	p.n++
	dir, keys := filepath.Join(p.o.Dir, fmt.Sprintf("testbed-%d", p.n)), ""
	if p.o.Keys != "" {
		keys = fmt.Sprintf("%s-%d-", p.o.Keys, p.n)
	}
	p.mu.Unlock()
	faults := s.Faults
	s.Faults, s.Clients = nil, len(p.target.ClientNames())
	l := &testbed{self: p.o.Self, log: filepath.Join(dir, logName), clients: p.target.AllClientNames(), besideOfLarger: p.o.besideOfLarger, config: harness.TestbedConfig{
		Settings: s, Extra: extra, Abilities: p.o.Abilities, Clients: p.target.ClientNames(), Faults: kinds(faults),
		Bound: p.target.Bound, Runtime: p.o.Runtime, ClientImage: p.o.ClientImage, Dir: dir, Keys: keys, Sets: sets,
	}}
	p.mu.Lock()
	p.testbeds = append(p.testbeds, l)
	p.mu.Unlock()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return l, fmt.Errorf("make the folder of a testbed: %w", err)
	}
	return l, nil
}

// kinds are the faults that servers have to be prepared for. "all" stands for those that need picklock's own disks.
func kinds(faults []string) []string {
	var out []string
	for _, f := range faults {
		switch kind, _, _ := strings.Cut(f, ":"); kind {
		case nemesis.None:
		case nemesis.All:
			for _, k := range nemesis.Kinds() {
				if k.Disks {
					out = append(out, k.Name)
				}
			}
		default:
			out = append(out, kind)
		}
	}
	return out
}

// Starts is how often servers and clients were started all together.
func (p *Pool) Starts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, l := range p.testbeds {
		n += l.count()
	}
	return n
}

// Versions names what ran: picklock, the client's library and the servers.
func (p *Pool) Versions() map[string]string {
	out := map[string]string{"picklock": harness.Version()}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.testbeds {
		l.mu.Lock()
		maps.Copy(out, l.versions)
		l.mu.Unlock()
	}
	return out
}

// Close ends all testbeds.
func (p *Pool) Close() error {
	if p.unlook != nil {
		p.unlook()
		p.looks.Wait()
	}
	p.mu.Lock()
	testbeds, ungrown := p.testbeds, p.ungrown
	p.mu.Unlock()
	over := make(chan failure, len(testbeds))
	for _, l := range testbeds {
		go func() { over <- failure{l, l.close()} }()
	}
	var all []failure
	for range testbeds {
		all = append(all, <-over)
	}
	return errors.Join(ungrown, once(all, len(testbeds)))
}
