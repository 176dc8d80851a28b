package harness

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/picklock/picklock/compose"
)

// Reuse keeps a cluster running from one run of this process to the next, which saves
// most of a short run's time. The runs follow one another. Each gets keys of its own,
// so that it finds its locks free and its register empty; what else a service keeps
// (sessions, its log, its age) it does not get new. A run takes the servers of the one
// before only if it wants the same cluster with the same lease, if that one broke
// nothing, and if every server answers as it did when it was new; else they are ended
// and others started.
type Reuse struct {
	dir string

	mu      sync.Mutex
	cluster compose.Cluster
	same    string // what of a run's options decides what its servers are
	runs    int
	starts  int
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

// enter gives a run its cluster.
func (u *Reuse) enter(ctx context.Context, r *run, def *compose.Definition) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	same := fmt.Sprintf("%s %s %s %v %v", r.Runtime.Name(), r.Cluster, r.backend.Cluster, r.TTL, r.disks)
	if u.cluster != nil && (u.same != same || healthy(ctx, u.cluster) != nil) {
		if err := u.end(); err != nil {
			return fmt.Errorf("end the cluster of the run before: %w", err)
		}
	}
	at := filepath.Join(u.dir, fmt.Sprint(u.starts))
	if u.cluster == nil {
		at = filepath.Join(u.dir, fmt.Sprint(u.starts+1))
		c, err := r.startCluster(ctx, def, filepath.Join(at, "nodes"), filepath.Join(at, "data"))
		if err != nil {
			return err
		}
		u.cluster, u.same = c, same
		u.starts++
	}
	u.runs++
	r.cluster, r.logs, r.start = u.cluster, filepath.Join(at, "nodes"), r.Runtime.Now()
	r.keys = keyNames(fmt.Sprintf("%sr%d", r.mark, u.runs), r.Keys)
	return nil
}

// leave takes the cluster back from a run.
func (u *Reuse) leave(failed error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if failed != nil {
		return u.end() // nobody knows what it has left behind
	}
	return nil
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
