package scenarios

import "go.yaml.in/yaml/v3"

// refuseWord has servers refuse writes with an error: "refuse: redis", "refuse: redis1, redis2".
var refuseWord = faultWord{name: "refuse", kind: "refuse", read: (*parser).refuse, requests: each(FaultRequest{Kind: "refuse"})}

func (p *parser) refuse(n *yaml.Node, f *Fault, rest string) error {
	if err := p.nodes(n, f, rest); err != nil {
		return err
	}
	if client, ok := p.oneClient(f); ok {
		return p.errorf(n, "refuse: %s is a client, and refuses nothing: name servers", client)
	}
	return nil
}
