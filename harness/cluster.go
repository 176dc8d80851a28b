package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/results"
)

// enterCluster starts the run's servers, or takes those that another run has left
// running for it.
func (r *run) enterCluster(ctx context.Context) error {
	def, err := r.definition(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	r.logs = r.dir.File(results.NodesFolder)
	r.live = r.logs
	if err := r.useExternal(def); err != nil {
		return err
	}
	r.emulators = strings.Join(def.Emulators(r.Runtime.Name()), ", ")
	if r.reuses() {
		err = r.Reuse.enter(ctx, r, def)
	} else {
		r.cluster, err = r.startCluster(ctx, def, r.logs, r.dir.File("data"))
	}
	if err != nil {
		return err
	}
	return r.tryExternal(ctx)
}

// reuses says that the run's servers may be another run's. Servers that run already are nobody's.
func (r *run) reuses() bool { return r.Reuse != nil && len(r.external) == 0 }

// startCluster starts the servers. Their logs go to logs.
func (r *run) startCluster(ctx context.Context, def *compose.Definition, logs, data string) (compose.Cluster, error) {
	starting := "start the cluster " + def.Name
	if r.backend.OpenAdmin != nil {
		starting += " and the register " + r.Register
	}
	r.Observer.Phase(starting, time.Time{})
	if why := def.NoDisk(); r.disks && why != "" {
		r.desc.Warnings = append(r.desc.Warnings, fmt.Sprintf("the servers of %s lose no power and have no disk that fails: %s", def.Name, why))
	}
	c, err := r.Runtime.Start(ctx, def, compose.Options{
		Self: r.Self, LogDir: logs, DataDir: data,
		Vars: map[string]string{"ttl_ms": fmt.Sprint(r.TTL.Milliseconds())}, Disks: r.disks,
	})
	if err != nil {
		var impossible compose.Impossible
		if errors.As(err, &impossible) {
			err = fmt.Errorf("%w: %w", ErrUsage, err)
		}
		return nil, err
	}
	r.start = r.Runtime.Now() // on the clock that the clients read, whatever machine it is
	return c, nil
}

// leaveCluster ends the cluster, or leaves it to the next run if that wants it and this
// one, whose error is given, has broken nothing.
func (r *run) leaveCluster(failed error) error {
	if r.cluster == nil {
		return nil
	}
	err := r.cleanExternal()
	if r.reuses() {
		return errors.Join(err, r.Reuse.leave(r, errors.Join(failed, err)))
	}
	err = errors.Join(err, r.cluster.Close())
	if left := r.cluster.Left(); len(left) > 0 && failed == nil {
		r.desc.Warnings = append(r.desc.Warnings, left...)
		err = errors.Join(err, r.dir.WriteRun(r.desc))
	}
	return err
}

// describeCluster notes what the run runs on, and writes run.json as it is until the
// run has come to its end.
func (r *run) describeCluster(ctx context.Context) error {
	d := &r.desc
	d.Workload, d.Kind, d.Downgrades, d.Cancels, d.Several, d.OwnLeases, d.Permits, d.Emulator = r.Workload, r.lock.Kind, r.lock.Downgrades, r.lock.Cancels, r.lock.Several, r.lock.OwnLeases, r.lock.Permits(r.Extra), r.emulators
	for _, n := range r.cluster.Nodes() {
		if n.Role == compose.Helper || n.Role == compose.Client && !slices.Contains(r.names, n.Name) {
			continue
		}
		d.Nodes = append(d.Nodes, results.Node{Name: n.Name, Role: string(n.Role), Addr: n.HostPort(), External: n.External})
	}
	d.Leaderless, d.Servers = leaderless(ctx, r.cluster), len(r.servers())
	maps.Copy(d.Versions, r.cluster.Versions(ctx))
	for _, a := range r.workers.abilities() {
		if a != nil && a.Library != "" {
			d.Versions[a.Library] = a.Version
		}
	}
	begun := *d
	begun.CutShort = results.Unfinished
	return r.dir.WriteRun(begun)
}

// leaderless is how many servers a cluster has of which none leads the others; 0 if one does.
func leaderless(ctx context.Context, c compose.Cluster) int {
	n := 0
	for _, node := range c.Nodes() {
		if node.Role != compose.Server {
			continue
		}
		if _, err := c.Leads(ctx, node.Name); !errors.Is(err, errors.ErrUnsupported) {
			return 0
		}
		n++
	}
	return n
}

// servers are the addresses that clients dial.
func (r *run) servers() []string {
	var out []string
	for _, n := range r.cluster.Nodes() {
		if n.Role == compose.Server {
			out = append(out, n.HostPort())
		}
	}
	return out
}

// definition loads a cluster; "none" is one without a server.
func definition(ctx context.Context, name string) (*compose.Definition, error) {
	if name == "none" {
		return &compose.Definition{Name: name}, nil
	}
	return compose.Load(ctx, name)
}

// definition is the lock's cluster, and the resource's where that is a server.
func (p *plan) definition(ctx context.Context) (*compose.Definition, error) {
	def, err := definition(ctx, p.Cluster)
	if err != nil {
		return def, err
	}
	for _, s := range def.Members() {
		if s.Name == registerName || slices.Contains(p.names, s.Name) {
			return nil, fmt.Errorf("the service %s has the name of a client or of the register: call it otherwise", s.Name)
		}
		if s.Name == registerKeeper || s.Name == inspectorName || nemesis.MeansClients(s.Name) {
			return nil, fmt.Errorf("the service %s has a name that means something else to picklock, a client or a helper of its own: call it otherwise", s.Name)
		}
	}
	if p.backend.Cluster == "" {
		return def, nil
	}
	return def.With(ctx, p.backend.Cluster, registerName, compose.Register)
}

// keyNames are the keys of a run's locks.
func keyNames(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%sk%d", prefix, i)
	}
	return out
}
