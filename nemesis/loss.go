package nemesis

import (
	"context"
	"errors"
	"fmt"

	"github.com/picklock/picklock/internal/link"
	"github.com/picklock/picklock/nemesis/packetfault"
)

var lossKind = Kind{
	Name:     "loss",
	About:    "lose some of the packets on links, by chance",
	Usage:    linkWords + "[:PERCENT%]",
	Plain:    []string{"one", "client"},
	All:      []string{"client"},
	Parse:    parseLoss,
	Make:     makeLoss,
	Lasts:    linksLast,
	Possible: wireable,
	Overlaps: true, // shapes are combined
}

// parseLoss reads "loss:c1:20%".
func parseLoss(words []string) (Plan, error) {
	part := 0.2
	p, err := parseShape(words, func(value string) (err error) {
		part, err = link.Loss(value)
		return err
	})
	p.Loss = part
	return p, err
}

func makeLoss(ctx context.Context, e *Env, p Plan, c chance) (Fault, error) {
	if p.Loss <= 0 || p.Loss > 1 {
		return nil, fmt.Errorf("%g is no part of the packets", p.Loss)
	}
	percent := fmt.Sprintf("%.4g", 100*p.Loss)
	return makeShaping(ctx, e, p, c, packetfault.Shape{Loss: p.Loss}, "lose "+percent+" % of their packets", percent+"%", seen{fate: lossSeen})
}

// lossSeen: a packet was lost by chance, on a link that loses at least as many as it has to.
func lossSeen(own packetfault.Shape, f packetfault.Fate) error {
	const rounding = 1e-9 // of what several faults lose together
	if !f.Lost || f.Shape.Loss < own.Loss-rounding {
		return errors.New("no packet was lost")
	}
	return nil
}
