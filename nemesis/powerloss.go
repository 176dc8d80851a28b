package nemesis

import (
	"context"
	"errors"
	"fmt"

	"github.com/picklock/picklock/compose"
)

var powerLossKind = Kind{
	Name:  "powerloss",
	About: "kill servers, discard what they have not synced (torn: except a part of one write), and start them again",
	Usage: "[:leader|server|one|minority|majority|all|NODE][:torn]",
	All:   []string{"leader", "majority"},
	Parse: parsePowerLoss,
	Make:  makePowerLoss,
	Lasts: killLasts,
	// A scenario can say itself since when nothing was synced; others look in Make.
	Possible: func(*Env) error { return nil },
	Disks:    true,
	Servers:  true,
	Restarts: true,
}

func parsePowerLoss(words []string) (p Plan, err error) {
	words, p.Torn = without(words, "torn")
	p.target, err = serverTarget(words)
	return p, err
}

func makePowerLoss(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	if e.Cluster.Disks() == nil && !p.named() {
		return nil, fmt.Errorf("what a server has synced is unknown: %w", errNoDisks)
	}
	nodes, err := p.victims(ctx, e, c)
	if err != nil || nodes == nil {
		return nil, err
	}
	return &powerLoss{kill: kill{e, nodes, false}, torn: p.Torn}, nil
}

type powerLoss struct {
	kill
	torn bool
	lost *compose.PowerLost
}

func (p *powerLoss) Detail() string {
	switch {
	case p.lost == nil:
		return "killed without its unsynced data"
	case p.lost.Names == 0 && p.lost.Torn == 0:
		return fmt.Sprintf("killed, and %d bytes that were not synced taken away", p.lost.Bytes)
	}
	text := fmt.Sprintf("killed, and %d bytes and %d changes of names that were not synced taken away", p.lost.Bytes, p.lost.Names)
	if p.lost.Torn > 0 {
		text += fmt.Sprintf(" but for %d bytes of a torn write", p.lost.Torn)
	}
	return text
}

func (p *powerLoss) Steps() []string {
	if p.torn {
		return []string{"powerloss: " + listed(p.Nodes()) + " torn"}
	}
	return []string{"powerloss: " + listed(p.Nodes())}
}

func (p *powerLoss) Inject(ctx context.Context) error {
	// A server that was only killed has met another fault.
	for _, n := range p.nodes {
		if err := p.loses(ctx, n); err != nil {
			return fmt.Errorf("power loss of %s: %w", n.Name, err)
		}
	}
	// Kill all of them first: one that still runs could sync what another has sent to it.
	if err := p.kill.Inject(ctx); err != nil {
		return err
	}
	total := compose.PowerLost{}
	for _, n := range p.nodes {
		lost, err := p.cut(ctx, n)
		if err != nil {
			return fmt.Errorf("power loss of %s: %w", n.Name, err)
		}
		total.Bytes += lost.Bytes
		total.Files += lost.Files
		total.Names += lost.Names
		total.Torn += lost.Torn
	}
	p.lost = &total
	return nil
}

// loses says why a running server cannot lose its power here.
func (p *powerLoss) loses(ctx context.Context, n compose.Node) error {
	switch {
	case p.env.Cluster.Disks() != nil:
		return nil
	case p.torn:
		return errors.New("only picklock's own disk can tear a write: use --runtime local")
	}
	return p.env.Cluster.Loses(ctx, n.Name)
}

// cut takes from a server that is down what it has not synced.
func (p *powerLoss) cut(ctx context.Context, n compose.Node) (lost compose.PowerLost, err error) {
	if d := p.env.Cluster.Disks(); d != nil {
		return d.CutPower(ctx, n.Name, p.torn)
	}
	lost.Bytes, err = p.env.Cluster.LosePower(ctx, n.Name)
	return lost, err
}

var errNoDisks = errors.New("the servers do not run on picklock's own disks: picklock run and hunt put them there if --faults names disk or powerloss, with --runtime local (picklock doctor says what a machine lacks); a Go test never does")
