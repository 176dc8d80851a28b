package local

import (
	"context"
	"os"
	"path/filepath"

	"github.com/picklock/picklock/compose"
)

// reach implements compose.Reach: all nodes are on this sandbox's bridge, and their
// data is in its folders.
type reach struct{ c *Cluster }

func (reach) Ask(ctx context.Context, n compose.Node, p *compose.Probe) (string, bool, error) {
	return p.Answer(ctx, n.HostPort())
}

func (r reach) Sizes(_ context.Context, node, pattern string) (map[string]int64, error) {
	dir := r.c.node(node).dir
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, f := range files {
		fi, err := os.Stat(f)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(dir, f)
		if err != nil {
			return nil, err
		}
		out[name] = fi.Size()
	}
	return out, nil
}

func (r reach) Cut(_ context.Context, node string, sizes map[string]int64) error {
	for name, size := range sizes {
		if err := os.Truncate(filepath.Join(r.c.node(node).dir, name), size); err != nil {
			return err
		}
	}
	return nil
}
