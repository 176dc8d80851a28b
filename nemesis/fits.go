package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/picklock/picklock/compose"
)

// Fits says what of the faults can never hit one of these nodes, of which none need run yet: a
// node that is not there, links that it does not have.
func Fits(specs []Spec, nodes []compose.Node) error {
	e := &Env{Cluster: drawing{nodes: nodes}, watch: newWatch(false)}
	for _, s := range specs {
		if s.OneOf != nil {
			continue // what of these does not fit is left out
		}
		err := s.Plan.fits(e)
		if err == nil {
			err = s.fitsNamed(e)
		}
		if err != nil {
			return s.wrap(err)
		}
	}
	return nil
}

func (p Plan) fits(e *Env) error {
	if slices.Contains([]target{"", halves, bridge, ring}, p.target) {
		return nil
	}
	anyClient, c := "", chance{rng: rand.New(rand.NewPCG(0, 0))}
	for _, n := range e.Cluster.Nodes() {
		if n.Role == compose.Client {
			anyClient = n.Name
		}
	}
	if c.holder = anyClient; p.links != "" {
		_, err := p.sides(context.Background(), e, c)
		return err
	}
	_, err := p.target.pick(context.Background(), e, c.rng, c.holder)
	return err
}

// fitsNamed says that a node that is named cannot have the fault: one that hits servers only, or the register, which no fault starts again.
func (s Spec) fitsNamed(e *Env) error {
	n, ok := e.node(string(s.Plan.target))
	switch {
	case !ok:
		return nil
	case s.Kind.Servers && n.Role != compose.Server:
		return fmt.Errorf("%s is no server, and it hits servers only", n.Name)
	case s.Kind.Restarts && n.Role != compose.Server && n.Role != compose.Client:
		return fmt.Errorf("%s cannot be started again: name a client or a server", n.Name)
	}
	return nil
}

// drawing is a cluster of which only the nodes are known.
type drawing struct {
	compose.Cluster // nil: nothing else is asked of it
	nodes           []compose.Node
}

// Nodes implements compose.Cluster.
func (d drawing) Nodes() []compose.Node { return slices.Clone(d.nodes) }

// Leader implements compose.Cluster.
func (drawing) Leader(context.Context) (string, error) { return "", nil }
