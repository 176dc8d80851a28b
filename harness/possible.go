package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/nemesis"
)

// Possible says, before anything is started, what of the options the cluster does not have. The
// error wraps ErrUsage.
func (o Options) Possible(ctx context.Context) error {
	p, err := o.plan()
	if err != nil {
		return err
	}
	return p.possible(ctx)
}

func (p *plan) possible(ctx context.Context) error {
	def, err := p.definition(ctx)
	if err == nil {
		err = nemesis.Fits(p.faults, p.nodes(def))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return Serves(ctx, p.Locks, p.lock, p.Cluster)
}

// nodes are those that the run will have.
func (p *plan) nodes(def *compose.Definition) []compose.Node {
	var out []compose.Node
	for _, s := range def.Members() {
		out = append(out, compose.Node{Name: s.Name, Role: s.Spec.Role, External: s.Spec.External})
	}
	for _, name := range p.names {
		out = append(out, compose.Node{Name: name, Role: compose.Client})
	}
	if !slices.ContainsFunc(out, func(n compose.Node) bool { return n.Name == registerName }) {
		out = append(out, compose.Node{Name: registerName, Role: compose.Register})
	}
	return out
}

// Serves says that a cluster of another service, or one without servers, is none for the lock. What
// a Compose file has, and what a program asks, is not known. cluster is "" for the lock's own. The error wraps ErrUsage.
func Serves(ctx context.Context, t *clients.Table, lock clients.Info, cluster string) error {
	if lock.IsExec() || lock.Cluster == "" || lock.Cluster == "none" || cluster == "" || cluster == lock.Cluster {
		return nil
	}
	def, err := definition(ctx, cluster)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	own := serviceOf(t, lock.Name, "")
	switch services := servicesOn(t, cluster); {
	case len(def.Servers()) == 0 && def.Directory == "":
		return fmt.Errorf("%w: lock %s needs %s, and the cluster %s has no servers: leave --cluster out, or name one that has", ErrUsage, lock.Name, own, cluster)
	case len(services) > 0 && !slices.Contains(services, own):
		return fmt.Errorf("%w: lock %s needs %s, and the cluster %s is of %s: leave --cluster out, or name one of %s", ErrUsage, lock.Name, own, cluster, strings.Join(services, " and "), own)
	}
	return nil
}

// servicesOn are the services of the locks that have this cluster, in whatever version, if the user names none.
func servicesOn(t *clients.Table, cluster string) []string {
	var out []string
	cluster, _, _ = compose.Version(cluster)
	for _, l := range t.All() {
		if s := serviceOf(t, l.Name, ""); l.Cluster == cluster && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
