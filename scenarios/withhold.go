package scenarios

import "go.yaml.in/yaml/v3"

// withholdWord keeps messages at their sender, and loses them at its end, which resets their
// connections: "withhold: servers to A".
var withholdWord = faultWord{name: withholdName, kind: "withhold", read: (*parser).withhold, requests: between("withhold")}

const withholdName = "withhold"

func (p *parser) withhold(n *yaml.Node, f *Fault, rest string) error {
	return p.sides(n, f, rest, "want two sides, as servers to A (A gets no answer) or A from servers (both ways)")
}
