package scenarios

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// powerLossWord takes servers' power, and what they have not synced: "powerloss: redis",
// "powerloss: servers torn". All are hit at once: one that still ran could keep what the others
// lose. They start again when it is over.
var powerLossWord = faultWord{
	name: "powerloss", kind: "powerloss", read: (*parser).powerLoss,
	requests: func(f *Fault, resolve func([]string) []string) []FaultRequest {
		return []FaultRequest{{Kind: "powerloss", Nodes: resolve(f.Nodes), Torn: f.Torn}}
	},
}

func (p *parser) powerLoss(n *yaml.Node, f *Fault, rest string) error {
	if before, ok := strings.CutSuffix(rest, " torn"); ok {
		rest, f.Torn = strings.TrimRight(before, " "), true
	}
	if err := p.nodes(n, f, rest); err != nil {
		return err
	}
	if client, ok := p.oneClient(f); ok {
		return p.errorf(n, "powerloss: %s is a client and keeps nothing: kill: %s", client, client)
	}
	return nil
}
