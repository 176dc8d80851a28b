package scenarios

import (
	"context"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/internal/link"
)

// slowWord makes links slow: "slow: A to redis 50ms", "slow: A from redis 50ms±10ms 100kB/s"
// both ways. "heal: A to redis" ends it.
var slowWord = stepWord{name: "slow", fault: "slow", read: (*parser).slow, after: (*order).harmed, take: (*Runner).bad}

// lossWord makes them lose packets by chance: "loss: A to redis 20%".
var lossWord = stepWord{name: "loss", fault: "loss", read: (*parser).loss, after: (*order).harmed, take: (*Runner).bad}

var (
	slowForm = pattern(`^(.*?)((?:\s+\d\S*)+)$`)
	lossForm = pattern(`^(.*\S)\s+(\d\S*)$`)
)

const slowWant = "want two sides and how slow, as A to redis 50ms (what A sends) or A from redis 50ms±10ms 100kB/s (both ways)"

func (p *parser) slow(n *yaml.Node, st *Step, rest string) error {
	m := slowForm().FindStringSubmatch(rest)
	if m == nil {
		return p.errorf(n, "slow: %s", slowWant)
	}
	for _, value := range strings.Fields(m[2]) {
		if err := st.Slow.Read(value); err != nil {
			return p.errorf(n, "slow: %v", err)
		}
	}
	return p.sides(n, st, m[1], slowWant)
}

func (p *parser) loss(n *yaml.Node, st *Step, rest string) (err error) {
	const want = "want two sides and how much, as A to redis 20% (of what A sends) or A from redis 20% (both ways)"
	m := lossForm().FindStringSubmatch(rest)
	if m == nil {
		return p.errorf(n, "loss: %s", want)
	}
	if st.Loss, err = link.Loss(m[2]); err != nil {
		return p.errorf(n, "loss: %v", err)
	}
	return p.sides(n, st, m[1], want)
}

func (r *Runner) bad(ctx context.Context, st Step) (string, error) {
	request := FaultRequest{
		Kind: st.Word, Nodes: r.resolve(st.Nodes), Peers: r.resolve(st.Peers), Both: st.Both,
		Slow: st.Slow, Loss: st.Loss, Flap: st.Flap,
	}
	return "", r.inject(ctx, request, st.Word+" "+st.link())
}
