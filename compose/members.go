package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Members are the nodes of a running cluster as every runtime keeps them: which there
// are, which run, which were killed and which ended by themselves, and what can be asked
// of the servers in any runtime. Making processes and ending them is left to the runtime.
// It has the methods of Cluster that do not depend on that.
type Members struct {
	def   *Definition
	reach Reach
	died  chan error

	mu       sync.Mutex
	order    []string
	nodes    map[string]*member
	closing  bool
	promoted string         // the server that was promoted last; "" for none
	refusals map[string]int // of writes, that are on; servers that were never told to refuse any are not in it
}

// Reach is how a runtime asks a server and reads its files.
type Reach interface {
	// Ask puts a probe's question to a node that runs, from where its port can be
	// reached (see Probe.Answer).
	Ask(ctx context.Context, n Node, p *Probe) (answer string, ok bool, err error)
	// Sizes lists the files below a server's data directory that match a pattern,
	// with their sizes in bytes.
	Sizes(ctx context.Context, node, pattern string) (map[string]int64, error)
	// Cut shortens files of a server that is down to these sizes.
	Cut(ctx context.Context, node string, sizes map[string]int64) error
}

// member is one node. Its fields change under the lock only.
type member struct {
	Node
	service     *Service     // nil for picklock's own programs
	home        string       // the namespace that it keeps while it is down
	incarnation *Incarnation // the latest
	killed      time.Time
	mark        *mark         // of its log, for a power loss
	mayExit     time.Time     // until then it may end by itself
	restart     bool          // it is being started again: the caller of that learns of its end
	changing    chan struct{} // holds one while it is being started, or loses its power, or its disk breaks
}

// Incarnation is one run of a node's process, from a start to its end.
type Incarnation struct {
	gone   chan struct{}
	err    error
	killed atomic.Bool // by a fault, or at the end of the run
}

// Gone is closed when the process has ended.
func (l *Incarnation) Gone() <-chan struct{} { return l.gone }

// Started says why a start of this incarnation failed, given what its wait for an answer has said:
// an error that wraps ErrKilled if somebody has killed it meanwhile.
func (l *Incarnation) Started(err error) error {
	if errors.Is(err, ErrEnded) && l.killed.Load() {
		return ErrKilled
	}
	return err
}

// Err waits for the end and says how it came; nil if it ended well.
func (l *Incarnation) Err() error {
	<-l.gone
	return l.err
}

// NewMembers is a cluster without a node.
func NewMembers(def *Definition, reach Reach) *Members {
	// The first few deaths are enough for an error.
	return &Members{def: def, reach: reach, died: make(chan error, 16), nodes: map[string]*member{}, refusals: map[string]int{}}
}

// Add takes in a node that does not run yet. The namespace that it has now is its
// own for good.
func (m *Members) Add(n Node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x := &member{Node: n, home: n.NetNS, changing: make(chan struct{}, 1)}
	if i := slices.IndexFunc(m.def.Services, func(s Service) bool { return s.Name == n.Name }); i >= 0 && n.Role == m.def.Services[i].Spec.Role {
		x.service = &m.def.Services[i]
	}
	m.nodes[n.Name] = x
	m.order = append(m.order, n.Name)
}

// find looks a node up; m.mu is held.
func (m *Members) find(name string) (*member, error) {
	if n := m.nodes[name]; n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("no node %q: have %s", name, strings.Join(m.order, ", "))
}

// Find returns a node as it is now.
func (m *Members) Find(name string) (Node, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	if err != nil {
		return Node{}, err
	}
	return n.Node, nil
}

// server returns a node as it is now, and its service.
func (m *Members) server(name string) (Node, *Service, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	if err == nil && n.service == nil {
		err = fmt.Errorf("%s is not a server", name)
	}
	if err != nil {
		return Node{}, nil, err
	}
	return n.Node, n.service, nil
}

// Nodes implements Cluster.
func (m *Members) Nodes() []Node {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Node, 0, len(m.order))
	for _, name := range m.order {
		out = append(out, m.nodes[name].Node)
	}
	return out
}

// Died implements Cluster.
func (m *Members) Died() <-chan error { return m.died }

// NodeEndedError says that a node ended that should not have.
type NodeEndedError struct {
	Node string
	Err  error
}

func (e *NodeEndedError) Error() string { return e.Err.Error() }

func (e *NodeEndedError) Unwrap() error { return e.Err }

// Report passes on that something ended that should not have, unless the cluster is
// being closed.
func (m *Members) Report(why func() error) {
	m.mu.Lock()
	closing := m.closing
	m.mu.Unlock()
	if closing {
		return
	}
	select {
	case m.died <- why():
	default: // the earlier ones have not been read
	}
}

// Closing says that from now on every end is as it should be.
func (m *Members) Closing() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closing = true
}

// Began notes that a node's process runs; 0 for one that ended too quickly to be
// looked at. netns is the namespace that goes with the process, "" where the node
// has one that stays. Ended has to be called at its end.
func (m *Members) Began(name string, pid int, netns string) (*Incarnation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(name)
	if err != nil {
		return nil, err
	}
	n.incarnation, n.killed = &Incarnation{gone: make(chan struct{})}, time.Time{}
	if n.PID = pid; netns != "" && pid != 0 {
		n.NetNS = netns
	}
	return n.incarnation, nil
}

// Ended notes how an incarnation of a node ended: with err if it ended badly. Unless it was
// killed, Died reports what why says, of a server always and of a program of picklock if
// it ended badly.
func (m *Members) Ended(name string, l *Incarnation, err error, why func() error) {
	m.mu.Lock()
	n := m.nodes[name]
	killed := !n.killed.IsZero() || time.Now().Before(n.mayExit) || n.restart
	if n.incarnation == l {
		n.PID, n.NetNS = 0, n.home
	}
	l.err = err
	m.mu.Unlock()
	close(l.gone)
	if !killed && (n.Role == Server || err != nil) {
		m.Report(func() error { return &NodeEndedError{name, why()} })
	}
}

// Restarting notes that a server is being started again until done is called: if it ends
// meanwhile, Died does not report it, because the start fails with it.
func (m *Members) Restarting(name string) (done func()) {
	set := func(on bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if n := m.nodes[name]; n != nil {
			n.restart = on
		}
	}
	set(true)
	return func() { set(false) }
}

// Changing lets nobody else start a server, take its power, or break its disk, until done is
// called: a server that starts while its disk is taken back would write beside that. An error
// means that another change takes longer than ctx.
func (m *Members) Changing(ctx context.Context, name string) (done func(), err error) {
	m.mu.Lock()
	n, err := m.find(name)
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case n.changing <- struct{}{}:
		return func() { <-n.changing }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s is still being started, or loses its power: %w", name, ctx.Err())
	}
}

// Starting is Changing for a start. The error wraps ErrRuns if the server is not down.
func (m *Members) Starting(ctx context.Context, name string) (done func(), err error) {
	done, err = m.Changing(ctx, name)
	if err != nil {
		return nil, err
	}
	now, err := m.Find(name)
	if err == nil && now.PID != 0 {
		err = ErrRuns
	}
	if err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// AllowExit says that a node may end by itself for so long: Died does not report it.
func (m *Members) AllowExit(name string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.nodes[name]; n != nil {
		n.mayExit = time.Now().Add(d)
	}
}

// MayExit reports whether a node may end by itself now and was not killed.
func (m *Members) MayExit(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nodes[name]
	return n != nil && !m.closing && n.killed.IsZero() && time.Now().Before(n.mayExit)
}

// End has kill called with the id of a node's process, if it runs, and returns when
// that is gone.
func (m *Members) End(ctx context.Context, name string, kill func(pid int) error) error {
	m.mu.Lock()
	n, err := m.find(name)
	if err != nil {
		m.mu.Unlock()
		return err
	}
	pid, incarnation := n.PID, n.incarnation
	n.killed = time.Now()
	if pid != 0 {
		incarnation.killed.Store(true)
	}
	m.mu.Unlock()
	if pid == 0 {
		return nil
	}
	if err := kill(pid); err != nil {
		return fmt.Errorf("kill %s: %w", name, err)
	}
	m.mu.Lock()
	n.killed = time.Now() // it may have written until now
	m.mu.Unlock()
	select {
	case <-incarnation.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("kill %s: still there: %w", name, ctx.Err())
	}
}

// NeedsData implements Cluster.
func (m *Members) NeedsData(name string) string {
	_, s, err := m.server(name)
	if err != nil {
		return ""
	}
	return s.Spec.NeedsData
}

// AroundStart implements Cluster for runtimes whose nodes keep their network namespaces.
func (m *Members) AroundStart(func(ctx context.Context, node string, start func() error) error) {}

// Disks implements Cluster for runtimes without disks.
func (m *Members) Disks() Disks { return nil }

// Left implements Cluster for runtimes that always remove everything.
func (m *Members) Left() []string { return nil }
