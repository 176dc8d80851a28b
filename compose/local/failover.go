package local

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/picklock/picklock/compose"
)

// askWithin bounds one question to a server.
const askWithin = 2 * time.Second

// Promote makes a server the one that leads, and every other that runs its
// replica. A server that is down or does not answer is left as it is.
func (c *Cluster) Promote(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if n.svc == nil || n.svc.Spec.Promote == nil {
		return fmt.Errorf("promote %s: its Compose file has no x-picklock.promote: %w", name, errors.ErrUnsupported)
	}
	if err := ask(ctx, n.svc.Spec.Promote, n.HostPort()); err != nil {
		return fmt.Errorf("promote %s: %w", name, err)
	}
	for _, s := range c.def.Servers() {
		other, err := c.node(s.Name)
		if err != nil || s.Name == name || s.Spec.Follow == nil || !c.runs(other) {
			continue
		}
		follow := *s.Spec.Follow
		follow.Send = strings.NewReplacer("{addr}", n.Addr, "{port}", strconv.Itoa(n.Port)).Replace(follow.Send)
		_ = ask(ctx, &follow, other.HostPort()) // cut off, it goes on as it was: that is what a takeover is like
	}
	return nil
}

// Leads asks one server whether it leads.
func (c *Cluster) Leads(ctx context.Context, name string) (bool, error) {
	n, err := c.node(name)
	if err != nil {
		return false, err
	}
	if n.svc == nil || n.svc.Spec.Leader == nil || n.svc.Spec.Promote == nil {
		return false, fmt.Errorf("%s: its Compose file has no x-picklock.promote: %w", name, errors.ErrUnsupported)
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	return n.svc.Spec.Leader.Ask(ctx, n.HostPort())
}

func (c *Cluster) runs(n *node) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return n.PID != 0
}

func ask(ctx context.Context, p *compose.Probe, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	ok, err := p.Ask(ctx, addr)
	if err == nil && !ok {
		err = fmt.Errorf("it does not answer as %q", p.Expect)
	}
	return err
}
