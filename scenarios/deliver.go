package scenarios

import (
	"context"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// deliverWord lets the next messages go of those that are held, and goes on holding: "deliver: 1
// from A to redis".
var deliverWord = faultWord{name: "deliver", kind: "hold", read: (*parser).deliver, do: deliver, momentary: always}

var deliverForm = pattern(`^(\d+) from (.+) to (.+)$`)

func (p *parser) deliver(n *yaml.Node, f *Fault, rest string) (err error) {
	m := deliverForm().FindStringSubmatch(rest)
	if m == nil {
		return p.errorf(n, "deliver: want how many messages and two sides, as 1 from A to redis; all that a hold keeps are delivered when it is over")
	}
	if f.N, err = strconv.Atoi(m[1]); err != nil || f.N < 1 {
		return p.errorf(n, "deliver: %q is no number of messages", m[1])
	}
	if f.Nodes, err = p.targets(n, f.Word, m[2], ","); err != nil {
		return err
	}
	f.Peers, err = p.targets(n, f.Word, m[3], ",")
	return err
}

func deliver(ctx context.Context, s Stage, f *Fault, resolve func([]string) []string) error {
	bounded, cancel := context.WithTimeout(ctx, awaitWithin)
	defer cancel()
	err := s.Deliver(bounded, resolve(f.Nodes), resolve(f.Peers), f.N)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%d messages did not come within %v: %w", f.N, awaitWithin, err)
	}
	return err
}
