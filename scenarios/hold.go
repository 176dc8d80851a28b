package scenarios

import "go.yaml.in/yaml/v3"

// holdWord keeps messages in their sender's packet queue: "hold: A to redis", or "hold: A from
// redis" both ways. When it is over they are delivered.
var holdWord = faultWord{name: "hold", kind: "hold", read: (*parser).hold, requests: between("hold")}

func (p *parser) hold(n *yaml.Node, f *Fault, rest string) error {
	return p.sides(n, f, rest, "want two sides, as A to redis (what A sends waits) or A from redis (both ways)")
}
