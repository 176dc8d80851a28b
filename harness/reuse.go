package harness

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/results"
)

// Reuse keeps a cluster running from one run of this process to the next, which saves
// most of a short run's time. The runs follow one another. Each gets keys of its own,
// so that it finds its locks free and its register empty, and new clients; what else a
// service keeps (its log, its age) it does not get new. A run takes the servers of the one
// before only if
//
//   - it wants the same cluster (see wanted),
//   - that one came to its end, with all its faults healed,
//   - no fault of that one struck a server: see residue,
//   - its faults cannot choose clients of other runs, and
//   - every server answers as it did when it was new.
//
// Else they are ended and others started.
type Reuse struct {
	dir string

	mu      sync.Mutex
	cluster compose.Cluster
	same    string // what of a run's options decides what its servers are
	struck  bool   // the run before harmed them
	runs    int
	starts  int
	logs    map[string]int64 // how long each node's log was when the run that is on began
}

// NewReuse keeps the logs and data of its clusters below dir.
func NewReuse(dir string) *Reuse { return &Reuse{dir: dir} }

// Starts is how many clusters were started so far.
func (u *Reuse) Starts() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.starts
}

// Close ends the cluster that is still running, if any.
func (u *Reuse) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.end()
}

func (u *Reuse) end() error {
	if u.cluster == nil {
		return nil
	}
	c := u.cluster
	u.cluster = nil
	return c.Close()
}

// wanted is what of a run's options decides what its servers are: the lease only where a file names it.
func (r *run) wanted(def *compose.Definition) string {
	ttl := time.Duration(0)
	if def.NamesLease() {
		ttl = r.TTL
	}
	return fmt.Sprintf("%s %s %s %v %v", r.Runtime.Name(), r.Cluster, r.backend.Cluster, ttl, r.disks)
}

// strangers says that faults of the run that choose among clients might choose another run's, whose
// nodes the cluster still has.
func (r *run) strangers(c compose.Cluster) bool {
	return len(r.faults) > 0 && slices.ContainsFunc(c.Nodes(), func(n compose.Node) bool {
		return n.Role == compose.Client && !slices.Contains(r.names, n.Name)
	})
}

// enter gives a run its cluster.
func (u *Reuse) enter(ctx context.Context, r *run, def *compose.Definition) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	same := r.wanted(def)
	if u.cluster != nil && (u.struck || u.same != same || r.strangers(u.cluster) || healthy(ctx, u.cluster) != nil) {
		if err := u.end(); err != nil {
			return fmt.Errorf("end the cluster of the run before: %w", err)
		}
	}
	if u.cluster == nil {
		u.starts++
		c, err := r.startCluster(ctx, def, u.nodes(), filepath.Join(u.at(), "data"))
		if err != nil {
			return errors.Join(err, compose.CopyLogs(u.nodes(), r.logs, nil))
		}
		u.cluster, u.same, u.struck, u.logs = c, same, false, nil
	} else {
		u.logs = compose.LogLengths(u.nodes())
	}
	u.runs++
	r.cluster, r.live, r.start = u.cluster, u.nodes(), r.Runtime.Now()
	r.keys = keyNames(fmt.Sprintf("%sr%d", r.mark, u.runs), r.Keys)
	return nil
}

func (u *Reuse) at() string    { return filepath.Join(u.dir, fmt.Sprint(u.starts)) }
func (u *Reuse) nodes() string { return filepath.Join(u.at(), results.NodesFolder) }

// leave takes the cluster back from a run, whose error is given, and puts what the nodes said during
// it into the run's folder.
func (u *Reuse) leave(r *run, failed error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	err := compose.CopyLogs(u.nodes(), r.logs, u.logs)
	u.struck = r.struckServers()
	if failed != nil {
		return errors.Join(err, u.end()) // nobody knows what it has left behind
	}
	return err
}

// healthy returns nil if every server of a running cluster answers as it should.
func healthy(ctx context.Context, c compose.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, compose.ReadyWithin)
	defer cancel()
	select {
	case err := <-c.Died():
		return err
	default:
	}
	return c.Healthy(ctx)
}
