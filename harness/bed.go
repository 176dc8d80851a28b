package harness

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// bed is what runs on a testbed: servers, a register, and the sets of clients that use them.
type bed struct {
	*run    // of the servers and the register
	testbed *Testbed
	log     *effectLog
	keyed   atomic.Int64  // how many keys there were
	over    chan struct{} // closed at its end
	watched sync.WaitGroup

	making sync.Mutex // orders the making of sets

	mu      sync.Mutex
	sets    []*clientSet
	idle    []*clientSet // the one that was used last comes last
	numbers int          // of sets that there were
	broken  bool         // only another repairs it
	unsure  bool         // a fault has hit its servers
	kept    bool         // what its nodes said is kept: something has failed
	first   *results.Run // what the first set said of itself
}

// mostSetsEver is how many sets there may be one after the other: a network has no more nodes.
const mostSetsEver = 50

// open starts servers and a register.
func (l *Testbed) open(ctx context.Context, name string) (*bed, error) {
	p := *l.plan
	p.Out = filepath.Join(l.dir, name)
	b := &bed{testbed: l, log: newEffectLog(), over: make(chan struct{})}
	var err error
	if b.run, err = p.run(ctx, p.describe(p.Options), func(*run) driver { return nil }); err != nil {
		return nil, err
	}
	b.registerLog, b.injector = b.log, b.Runtime.Injector() // one: it keeps one packet queue for each node
	if err := b.setupServers(ctx); err != nil {
		if b.cluster != nil {
			err = errors.Join(err, b.cleanExternal(), b.cluster.Close())
		}
		return nil, err
	}
	b.stalls = watchStalls(b.TTL, func() int64 { return b.Runtime.Now() - b.start }, b.stalled)
	b.watched.Go(b.watchDeaths)
	return b, nil
}

// openShared opens a testbed on which several sets of clients may run, and sees that they can.
func (l *Testbed) openShared(ctx context.Context, name string) (*bed, error) {
	b, err := l.open(ctx, name)
	if err != nil || l.sets == 1 {
		return b, err
	}
	s, err := b.newSet(ctx, l.options.TTL)
	if err != nil {
		return nil, errors.Join(err, b.end())
	}
	separate, err := s.separate(ctx)
	if err != nil {
		b.kept = true
		return nil, errors.Join(fmt.Errorf("see whether keys are locks of their own: %w", err), b.end())
	}
	l.mu.Lock()
	if !separate {
		l.sets = 1
	}
	l.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, s)
	return b, nil
}

// end ends everything. What its nodes said is kept where something failed: it may say why.
func (b *bed) end() error {
	if b == nil {
		return nil
	}
	b.stalls.stop()
	err := errors.Join(b.cleanExternal(), b.cluster.Close())
	close(b.over)
	b.watched.Wait()
	if b.kept {
		return err
	}
	return errors.Join(err, b.dir.Discard())
}

// stalled tells every set that this machine stood still.
func (b *bed) stalled(e history.Event) {
	b.mu.Lock()
	sets := slices.Clone(b.sets)
	b.mu.Unlock()
	for _, s := range sets {
		s.rec.record(e)
	}
}

// watchDeaths tells those sets of a node's end whom it concerns.
func (b *bed) watchDeaths() {
	for {
		select {
		case err := <-b.cluster.Died():
			b.died(err)
		case <-b.over:
			return
		}
	}
}

func (b *bed) died(err error) {
	var ended *compose.NodeEndedError
	node := ""
	if errors.As(err, &ended) {
		node = ended.Node
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sets {
		if s.view.own(node) != "" {
			s.view.tell(err)
			return
		}
	}
	b.broken, b.kept = true, true
	for _, s := range b.sets {
		s.view.tell(err)
	}
}

// doubtful says that the servers may not be whole.
func (b *bed) doubtful() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken || b.unsure
}

// fit sees whether the servers are whole, if that is in doubt. Nothing runs on them then.
func (b *bed) fit(ctx context.Context) bool {
	b.mu.Lock()
	broken, unsure := b.broken, b.unsure
	b.mu.Unlock()
	if broken || unsure && healthy(ctx, b.cluster) != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unsure = false
	return true
}

// take gives a run a set of clients that keep such a lease.
func (b *bed) take(ctx context.Context, ttl time.Duration) (*clientSet, error) {
	most := b.testbed.mostSets() // before b.mu: enter locks the testbed first, and then the bed
	b.mu.Lock()
	var other *clientSet
	i := len(b.idle) - 1
	for i >= 0 && b.idle[i].TTL != ttl {
		i--
	}
	if i >= 0 {
		s := b.idle[i]
		b.idle = slices.Delete(b.idle, i, i+1)
		b.mu.Unlock()
		return s, nil
	}
	if len(b.sets) >= most && len(b.idle) > 0 {
		other, b.idle = b.idle[0], b.idle[1:]
	}
	b.mu.Unlock()
	if other != nil { // of another lease
		if err := b.drop(ctx, other); err != nil {
			return nil, err
		}
	}
	return b.newSet(ctx, ttl)
}

// drop ends a set for good.
func (b *bed) drop(ctx context.Context, s *clientSet) error {
	b.mu.Lock()
	b.sets = slices.DeleteFunc(b.sets, func(x *clientSet) bool { return x == s })
	b.broken = b.broken || b.numbers >= mostSetsEver
	b.mu.Unlock()
	return s.view.end(context.WithoutCancel(ctx))
}

// newSet starts a set of clients.
func (b *bed) newSet(ctx context.Context, ttl time.Duration) (*clientSet, error) {
	b.making.Lock()
	defer b.making.Unlock()
	p, err := b.testbed.planWith(ttl)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.numbers++
	s := &clientSet{bed: b, view: newSetCluster(b.cluster, p.names, b.numbers)}
	b.sets = append(b.sets, s)
	first := b.first
	b.mu.Unlock()
	p.Observer = b.Observer
	p.Log = b.Log
	s.run = &run{
		plan: p, driver: s, dir: b.dir, start: b.start, cluster: s.view, logs: b.logs, live: b.live, keys: b.keys, reg: b.reg,
		external: b.external, access: b.access, mark: b.mark, emulators: b.emulators, desc: p.describe(p.Options), rec: unwritten(), scope: s.view.scope(), injector: b.injector,
	}
	s.desc.Leaderless, s.desc.Servers = leaderless(ctx, b.cluster), len(b.testbed.servers(b))
	if first != nil {
		s.view.versions = first.Versions
	}
	if err := s.setupClients(ctx, s.servers()); err != nil {
		b.mu.Lock()
		b.kept = true // the error names the log of one
		b.mu.Unlock()
		return nil, errors.Join(fmt.Errorf("start clients: %w", err), b.drop(ctx, s))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first == nil {
		b.first = &s.desc
	}
	return s, nil
}

// leave takes back a run's set, nil if it has none, and notes what the run has left behind.
func (b *bed) leave(ctx context.Context, set *clientSet, s *scenarios.Scenario, alone bool, failed error) error {
	sets := b.testbed.mostSets()
	var left residue
	if alone {
		left = residueOf(s, b.testbed.options.Clients, b.testbed.servers(b))
	}
	b.mu.Lock()
	if failed != nil {
		b.kept, b.unsure = true, true
		b.broken = b.broken || sets == 1
	}
	b.unsure = b.unsure || left.servers
	b.broken = b.broken || left.stays
	if left.servers {
		for _, x := range b.sets {
			x.residue.clients = slices.Clone(b.testbed.options.Clients)
		}
	}
	if set != nil && failed == nil {
		b.idle = append(b.idle, set)
	}
	b.mu.Unlock()
	if set != nil && failed != nil {
		return b.drop(ctx, set)
	}
	return nil
}

// servers are the names of the servers.
func (l *Testbed) servers(b *bed) []string {
	var out []string
	for _, n := range b.cluster.Nodes() {
		if n.Role == compose.Server {
			out = append(out, n.Name)
		}
	}
	return out
}
