package scenarios

import (
	"context"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"
)

// diskWord breaks a server's disk: "disk: etcd2 stall", "disk: etcd2 stall 2s",
// "disk: etcd2 full", "disk: etcd2 eio"; or gives it one that works: "disk: etcd2 well".
var diskWord = stepWord{name: "disk", fault: "disk", read: (*parser).disk, after: (*order).disk, take: (*Runner).disk}

var diskForm = pattern(`^(\S+)\s+(stall|full|eio|well)(?:\s+(\S+))?$`)

func (p *parser) disk(n *yaml.Node, st *Step, rest string) (err error) {
	m := diskForm().FindStringSubmatch(rest)
	if m == nil || m[3] != "" && m[2] != "stall" {
		return p.errorf(n, "disk: want a server and what is wrong with its disk, as etcd2 stall 2s (or stall, full, eio), or well to make it work again")
	}
	if m[3] != "" {
		if st.Stall, err = time.ParseDuration(m[3]); err != nil || st.Stall <= 0 {
			return p.errorf(n, "disk: %q is no time that a sync takes: want one like 2s", m[3])
		}
	}
	if m[2] != "well" {
		st.Disk = m[2]
	}
	return p.nodes(n, st, m[1])
}

func (o *order) disk(n *yaml.Node, st *Step) error {
	if st.Disk == "" {
		return o.undo(n, st, "disk")
	}
	for _, node := range st.Nodes {
		if o.clients[node] != nil {
			return o.p.errorf(n, "disk: %s is a client and has no disk", node)
		}
		if err := o.isUp(n, st, node); err != nil {
			return err
		}
		if line := o.broken["disk "+node]; line != 0 {
			return o.p.errorf(n, "disk: that of %s is broken since line %d: disk: %s well first", node, line, node)
		}
		o.broken["disk "+node] = st.Line
	}
	return nil
}

func (r *Runner) disk(ctx context.Context, st Step) (string, error) {
	if st.Disk == "" {
		return "", r.each(st.Nodes, func(node string) error { return r.undo(ctx, "disk "+node) })
	}
	err := r.each(st.Nodes, func(node string) error {
		return r.inject(ctx, FaultRequest{Kind: "disk", Nodes: []string{node}, Disk: st.Disk, Stall: st.Stall}, "disk "+node)
	})
	if err != nil {
		return "", fmt.Errorf("disk: %w", err)
	}
	return "", nil
}
