package scenarios

import "go.yaml.in/yaml/v3"

// cutWord cuts links: "cut: A from redis4, redis5" both ways, "cut: A to redis4" one way.
var cutWord = faultWord{name: "cut", kind: "partition", read: (*parser).cut, requests: between("partition")}

func (p *parser) cut(n *yaml.Node, f *Fault, rest string) error {
	return p.sides(n, f, rest, "want two sides, as A from redis4, redis5 (both ways) or A to redis4 (what A sends is lost)")
}
