package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

func init() {
	register(Kind{
		Name:     "powerloss",
		About:    "kill a server and take from its log what it had not yet told the kernel to keep (scenarios only)",
		Usage:    "[:NODE]",
		Parse:    parsePowerLoss,
		Possible: func(*Env) error { return nil },
	})
}

// unsynced is a cluster that knows which of a server's writes were still in the
// kernel's memory. A killed process loses none of them, a machine without power
// does.
type unsynced interface {
	// LosePower takes from a killed server's log what it had appended since the
	// mark and not synced by its own rule, and returns how many bytes that were.
	LosePower(ctx context.Context, node string) (int64, error)
}

type powerLossPlan struct{}

func parsePowerLoss([]string) (Plan, error) { return powerLossPlan{}, nil }

func (powerLossPlan) Trigger() Trigger                        { return Sometimes }
func (powerLossPlan) Duration(*Env, *rand.Rand) time.Duration { return 0 }
func (powerLossPlan) Pick(context.Context, *Env, *rand.Rand, string) (Fault, error) {
	return nil, errors.New("a power loss needs a scenario, which says since when nothing was synced")
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
	c, ok := p.env.Cluster.(unsynced)
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
