package scenarios

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// diskWord breaks a server's disk: "disk: etcd2 stall", "disk: etcd2 stall 2s",
// "disk: etcd2 full", "disk: etcd2 eio".
var diskWord = faultWord{name: "disk", kind: "disk", read: (*parser).disk, requests: each(FaultRequest{Kind: "disk"})}

var diskForm = pattern(`^(\S+)\s+(stall|full|eio)(?:\s+(\S+))?$`)

func (p *parser) disk(n *yaml.Node, f *Fault, rest string) (err error) {
	m := diskForm().FindStringSubmatch(rest)
	if m == nil || m[3] != "" && m[2] != "stall" {
		return p.errorf(n, "disk: want a server and what is wrong with its disk, as etcd2 stall 2s (or stall, full, eio)")
	}
	if m[3] != "" {
		if f.Stall, err = time.ParseDuration(m[3]); err != nil || f.Stall <= 0 {
			return p.errorf(n, "disk: %q is no time that a sync takes: want one like 2s", m[3])
		}
	}
	f.Disk = m[2]
	if err := p.nodes(n, f, m[1]); err != nil {
		return err
	}
	if client, ok := p.oneClient(f); ok {
		return p.errorf(n, "disk: %s is a client and has no disk", client)
	}
	return nil
}
