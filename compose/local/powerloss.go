package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// mark is what a server had written to its log at a time.
type mark struct {
	at    time.Time
	sizes map[string]int64
}

func (c *Cluster) logFiles(name string) (*node, []string, error) {
	n, err := c.node(name)
	if err != nil {
		return nil, nil, err
	}
	if n.svc == nil || n.svc.Spec.Log == nil {
		return nil, nil, fmt.Errorf("%s: its Compose file names no log (x-picklock.log)", name)
	}
	if !filepath.IsLocal(n.svc.Spec.Log.Files) {
		return nil, nil, fmt.Errorf("%s: x-picklock.log: %q is not below the data directory", name, n.svc.Spec.Log.Files)
	}
	files, err := filepath.Glob(filepath.Join(n.dir, n.svc.Spec.Log.Files))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no log at %s", name, n.svc.Spec.Log.Files)
	}
	return n, files, err
}

// MarkSynced notes the size of a server's log, for a power loss soon after.
func (c *Cluster) MarkSynced(_ context.Context, name string) error {
	n, files, err := c.logFiles(name)
	if err != nil {
		return err
	}
	m := &mark{time.Now(), map[string]int64{}}
	for _, f := range files {
		fi, err := os.Stat(f)
		if err != nil {
			return fmt.Errorf("mark %s: %w", name, err)
		}
		m.sizes[f] = fi.Size()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n.mark = m
	return nil
}

// LosePower cuts a killed server's log back to the mark: a process that is killed
// loses nothing that it has written, a machine without power loses what was not
// synced. A server that syncs every write before it answers loses nothing. It is an
// error if the mark is older than what the server's settings leave unsynced.
func (c *Cluster) LosePower(_ context.Context, name string) (int64, error) {
	n, files, err := c.logFiles(name)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	m, pid := n.mark, n.PID
	c.mu.Unlock()
	unsynced, err := n.svc.Spec.Log.Window()
	switch {
	case err != nil:
		return 0, err
	case pid != 0:
		return 0, fmt.Errorf("it still runs")
	case unsynced == 0:
		return 0, nil
	case m == nil:
		return 0, fmt.Errorf("its log was never marked")
	case time.Since(m.at) > unsynced:
		return 0, fmt.Errorf("its log was marked %v ago, and what is older than %v is on the disk", time.Since(m.at).Round(time.Millisecond), unsynced)
	}
	lost := int64(0)
	for _, f := range files {
		fi, err := os.Stat(f)
		if err != nil {
			return lost, err
		}
		// A file that is younger than the mark has nothing on the disk.
		if more := fi.Size() - m.sizes[f]; more > 0 {
			if err := os.Truncate(f, m.sizes[f]); err != nil {
				return lost, err
			}
			lost += more
		}
	}
	return lost, nil
}
