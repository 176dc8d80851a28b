package compose

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// mark is what a server had written to its log at a time.
type mark struct {
	at    time.Time
	sizes map[string]int64
}

// sizes lists a server's log files.
func (m *Members) sizes(ctx context.Context, name string) (*Log, map[string]int64, error) {
	_, s, err := m.server(name)
	if err != nil {
		return nil, nil, err
	}
	log := s.Spec.Log
	if log == nil {
		return nil, nil, fmt.Errorf("%s: its Compose file names no log (x-picklock.log)", name)
	}
	if !filepath.IsLocal(log.Files) {
		return nil, nil, fmt.Errorf("%s: x-picklock.log: %q is not below the data directory", name, log.Files)
	}
	files, err := m.reach.Sizes(ctx, name, log.Files)
	if err == nil && len(files) == 0 {
		err = errors.New("no file is there")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look at the log of %s, %s: %w", name, log.Files, err)
	}
	return log, files, nil
}

// AwaitWritten implements Cluster. A server that syncs now and then may answer first and
// write later: Redis holds writes back while a sync is under way.
func (m *Members) AwaitWritten(ctx context.Context, name string) error {
	n, s, err := m.server(name)
	if err != nil {
		return err
	}
	if s.Spec.Log == nil || s.Spec.Log.Written == nil {
		return nil
	}
	p := s.Spec.Log.Written
	err = p.AwaitBy(ctx, n.HostPort(), nil, func(ctx context.Context) (bool, error) {
		_, ok, err := m.reach.Ask(ctx, n, p)
		return ok, err
	})
	if err != nil {
		return fmt.Errorf("%s has not written to its log all that it has answered: %w", name, err)
	}
	return nil
}

// MarkSynced implements Cluster: it notes the size of the log.
func (m *Members) MarkSynced(ctx context.Context, name string) error {
	if err := m.AwaitWritten(ctx, name); err != nil {
		return fmt.Errorf("mark: %w", err)
	}
	at := time.Now()
	_, sizes, err := m.sizes(ctx, name)
	if err != nil {
		return fmt.Errorf("mark: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nodes[name].mark = &mark{at, sizes}
	return nil
}

// Loses implements Cluster. What depends on the moment of the kill, LosePower checks.
func (m *Members) Loses(ctx context.Context, name string) error {
	log, _, err := m.sizes(ctx, name)
	if err != nil {
		return err
	}
	unsynced, err := log.Window()
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if unsynced != 0 && m.nodes[name].mark == nil {
		return errUnmarked
	}
	return nil
}

var errUnmarked = errors.New("its log was never marked: mark it first, or have its disk know what was synced (--runtime local)")

// LosePower cuts a killed server's log back to the mark and returns how many bytes
// that took: a process that is killed loses nothing that it has written, a machine
// without power loses what was not synced. A server that syncs every write before it
// answers loses nothing. It is an error if, when the server was killed, the mark was
// older than what its settings leave unsynced.
func (m *Members) LosePower(ctx context.Context, name string) (int64, error) {
	done, err := m.Changing(ctx, name)
	if err != nil {
		return 0, err
	}
	defer done()
	log, sizes, err := m.sizes(ctx, name)
	if err != nil {
		return 0, err
	}
	unsynced, err := log.Window()
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	n := m.nodes[name]
	mark, pid, killed := n.mark, n.PID, n.killed
	m.mu.Unlock()
	switch {
	case pid != 0:
		return 0, errors.New("it still runs")
	case killed.IsZero():
		return 0, errors.New("it was not killed")
	case unsynced == 0:
		return 0, nil
	case mark == nil:
		return 0, errUnmarked
	case killed.Sub(mark.at) > unsynced:
		return 0, fmt.Errorf("its log was marked %v before, and what is older than %v is on the disk", killed.Sub(mark.at).Round(time.Millisecond), unsynced)
	}
	lost, cut := int64(0), map[string]int64{}
	for f, size := range sizes {
		// A file that is younger than the mark has nothing on the disk.
		if had := mark.sizes[f]; size > had {
			cut[f] = had
			lost += size - had
		}
	}
	if len(cut) == 0 {
		return 0, nil
	}
	if err := m.reach.Cut(ctx, name, cut); err != nil {
		return 0, fmt.Errorf("cut its log: %w", err)
	}
	_, now, err := m.sizes(ctx, name)
	if err != nil {
		return 0, err
	}
	for f, want := range cut {
		if now[f] != want {
			return 0, fmt.Errorf("cut its log: %s has %d bytes instead of %d", f, now[f], want)
		}
	}
	return lost, nil
}
