package scenarios

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/internal/link"
)

// slowWord makes links slow: "slow: A to redis 50ms", "slow: A from redis 50ms±10ms 100kB/s"
// both ways.
var slowWord = faultWord{name: "slow", kind: "slow", read: (*parser).slow, requests: between("slow")}

// lossWord makes them lose packets by chance: "loss: A to redis 20%".
var lossWord = faultWord{name: "loss", kind: "loss", read: (*parser).loss, requests: between("loss")}

var (
	slowForm = pattern(`^(.*?)((?:\s+\d\S*)+)$`)
	lossForm = pattern(`^(.*\S)\s+(\d\S*)$`)
)

const slowWant = "want two sides and how slow, as A to redis 50ms (what A sends) or A from redis 50ms±10ms 100kB/s (both ways)"

func (p *parser) slow(n *yaml.Node, f *Fault, rest string) error {
	m := slowForm().FindStringSubmatch(rest)
	if m == nil {
		return p.errorf(n, "slow: %s", slowWant)
	}
	for _, value := range strings.Fields(m[2]) {
		if err := f.Slow.Read(value); err != nil {
			return p.errorf(n, "slow: %v", err)
		}
	}
	return p.sides(n, f, m[1], slowWant)
}

func (p *parser) loss(n *yaml.Node, f *Fault, rest string) (err error) {
	const want = "want two sides and how much, as A to redis 20% (of what A sends) or A from redis 20% (both ways)"
	m := lossForm().FindStringSubmatch(rest)
	if m == nil {
		return p.errorf(n, "loss: %s", want)
	}
	if f.Loss, err = link.Loss(m[2]); err != nil {
		return p.errorf(n, "loss: %v", err)
	}
	return p.sides(n, f, m[1], want)
}
