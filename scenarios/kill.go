package scenarios

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// killWord ends processes at once, which are started again when it is over: "kill: A", "kill: redis1
// without data".
var killWord = faultWord{name: killName, kind: "kill", read: (*parser).kill, requests: each(FaultRequest{Kind: "kill"})}

const killName = "kill"

func (p *parser) kill(n *yaml.Node, f *Fault, rest string) error {
	if before, ok := strings.CutSuffix(rest, "without data"); ok {
		rest, f.Wipe = strings.TrimRight(before, " ,"), true
	}
	return p.nodes(n, f, rest)
}
