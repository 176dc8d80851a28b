package nemesis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/picklock/picklock/compose"
)

// refusing is a cluster whose servers can be made to refuse writes, but for the deaf one.
type refusing struct {
	*fakeCluster
	refuses map[string]bool
	deaf    string
}

func (c *refusing) Refuse(_ context.Context, node string, on bool) error {
	if node == c.deaf {
		return fmt.Errorf("ask %s: %w", node, errFailing)
	}
	c.refuses[node] = on
	return nil
}

func (c *refusing) Refuses(_ context.Context, node string) (bool, error) {
	return c.refuses[node], nil
}

// TestRefuse: writes are refused on the servers that were named, once all of them say so; and the others take them again
// if one of them cannot be told.
func TestRefuse(t *testing.T) {
	ctx := t.Context()
	c := &refusing{newFakeCluster(), map[string]bool{}, ""}
	var nodes []compose.Node
	for _, n := range c.Nodes() {
		if n.Name == "s1" || n.Name == "s2" {
			nodes = append(nodes, n)
		}
	}
	f := &refuse{env: &Env{Cluster: c}, nodes: nodes}
	if err := f.Verify(ctx); err == nil || !strings.Contains(err.Error(), "s1 does not say") {
		t.Errorf("before: %v", err)
	}
	if err := errors.Join(f.Inject(ctx), f.Verify(ctx)); err != nil || !maps.Equal(c.refuses, map[string]bool{"s1": true, "s2": true}) {
		t.Errorf("on: %v, %v", c.refuses, err)
	}
	c.deaf = "s1"
	if err := f.Heal(ctx); !errors.Is(err, errFailing) || !c.refuses["s1"] || c.refuses["s2"] {
		t.Errorf("off, s1 deaf: %v, %v", c.refuses, err)
	}
	c.deaf = ""
	if err := f.Heal(ctx); err != nil || c.refuses["s1"] {
		t.Errorf("off: %v, %v", c.refuses, err)
	}
}
