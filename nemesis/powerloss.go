package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/picklock/picklock/compose"
)

var powerLossKind = Kind{
	Name:     "powerloss",
	About:    "kill a server and take from its log what it had not yet told the kernel to keep (scenarios only)",
	Usage:    "[:NODE]",
	Parse:    parsePowerLoss,
	Make:     makePowerLoss,
	Possible: func(*Env) error { return nil },
}

type powerLossPlan struct{}

func parsePowerLoss([]string) (Plan, error) { return powerLossPlan{}, nil }

func (powerLossPlan) Trigger() Trigger                        { return Sometimes }
func (powerLossPlan) Duration(*Env, *rand.Rand) time.Duration { return 0 }
func (powerLossPlan) Pick(context.Context, *Env, *rand.Rand, string) (Fault, error) {
	return nil, errors.New("a power loss needs a scenario, which says since when nothing was synced")
}

func makePowerLoss(e *Env, r FaultRequest) (Fault, error) {
	nodes, err := r.victims(e)
	if err != nil {
		return nil, err
	}
	return &powerLoss{kill{e, nodes, false}, nil}, nil
}

type powerLoss struct {
	kill
	lost *int64
}

func (p *powerLoss) Detail() string {
	if p.lost != nil {
		return fmt.Sprintf("killed, and %d bytes that were not synced taken away", *p.lost)
	}
	return "killed without its unsynced data"
}

func (p *powerLoss) Inject(ctx context.Context) error {
	c, ok := p.env.Cluster.(compose.Unsynced)
	if !ok {
		return errors.New("this runtime does not know what a server has synced")
	}
	if err := p.kill.Inject(ctx); err != nil {
		return err
	}
	total := int64(0)
	for _, n := range p.nodes {
		lost, err := c.LosePower(ctx, n.Name)
		if err != nil {
			return fmt.Errorf("power loss of %s: %w", n.Name, err)
		}
		total += lost
	}
	p.lost = &total
	return nil
}
