package docker

import (
	"context"
	"errors"

	"github.com/picklock/picklock/compose"
)

// reach implements compose.Reach: the agent asks a server from inside its own
// network, which may be one that this machine does not reach; the engine
// reads what a server keeps on its disk.
type reach struct{ c *Cluster }

func (r reach) Ask(ctx context.Context, n compose.Node, p *compose.Probe) (string, bool, error) {
	if n.NetNS == "" {
		return "", false, errors.New("it is down")
	}
	return r.c.agent.Ask(ctx, n.NetNS, n.HostPort(), p)
}
