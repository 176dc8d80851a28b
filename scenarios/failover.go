package scenarios

import "go.yaml.in/yaml/v3"

// failoverWord makes another server take over: "failover: redis2".
var failoverWord = faultWord{name: "failover", kind: "failover", read: (*parser).failover, requests: each(FaultRequest{Kind: "failover"}), momentary: always}

func (p *parser) failover(n *yaml.Node, f *Fault, rest string) error {
	if err := p.nodes(n, f, rest); err != nil {
		return err
	}
	if len(f.Nodes) != 1 {
		return p.errorf(n, "%s: want one server", f.Word)
	}
	return nil
}
