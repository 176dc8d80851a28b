package nemesis

import (
	"errors"
	"fmt"
	"math/rand/v2"

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
	p.shape = func(*Env, *rand.Rand) (packetfault.Shape, string) { return packetfault.Shape{Loss: part}, lossy(part) }
	p.seen = seen{fate: lossSeen}
	return p, err
}

func lossy(part float64) string { return fmt.Sprintf("lose %.4g %% of their packets", 100*part) }

// makeLoss makes the links lossy that a step names.
func makeLoss(e *Env, r FaultRequest) (Fault, error) {
	if r.Loss <= 0 || r.Loss > 1 {
		return nil, fmt.Errorf("%g is no part of the packets", r.Loss)
	}
	return makeShaping(e, r, packetfault.Shape{Loss: r.Loss}, lossy(r.Loss), seen{fate: lossSeen})
}

// lossSeen: a packet was lost by chance, on a link that loses at least as many as it has to.
func lossSeen(own packetfault.Shape, f packetfault.Fate) error {
	const rounding = 1e-9 // of what several faults lose together
	if !f.Lost || f.Shape.Loss < own.Loss-rounding {
		return errors.New("no packet was lost")
	}
	return nil
}
