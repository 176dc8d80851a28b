package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/lines"
)

// mounted is what a server needs of a disk.
type mounted interface {
	set(r compose.DiskRequest) error
	hits() int64
	Lose(tear bool) (compose.PowerLost, error)
	Freeze() (sync func() error)
	Pending() compose.PowerLost
	Close() error
}

// server does to disks what it is asked, one request after the other.
type server struct {
	mount func(at, store string) (mounted, error)

	mu    sync.Mutex
	disks map[string]mounted
}

// Serve mounts disks and does to them what is asked, until in or ctx ends. Then all of
// them are unmounted.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s := &server{mount: func(at, store string) (mounted, error) { return Mount(at, store) }, disks: map[string]mounted{}}
	err := lines.Serve(ctx, in, compose.LongestDiskLine, lines.NewServer(out), func(_ context.Context, r compose.DiskRequest) any {
		a, err := s.do(r)
		if a.ID = r.ID; err != nil {
			a.Error = err.Error()
		}
		return a
	})
	for _, d := range s.disks {
		err = errors.Join(err, d.Close())
	}
	return err
}

// syncAtOnce makes disks durable as they are at one moment: none changes until all stand still. So
// what one server has sent to another before it wrote it down is never durable there alone.
func syncAtOnce(disks ...mounted) (err error) {
	var frozen []func() error
	for _, d := range disks {
		frozen = append(frozen, d.Freeze())
	}
	for _, syncAll := range frozen {
		err = errors.Join(err, syncAll())
	}
	return err
}

func (s *server) do(r compose.DiskRequest) (a compose.DiskAnswer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.disks[r.Disk]
	switch {
	case r.Do == "sync" && r.Disk == "":
		return a, syncAtOnce(slices.Collect(maps.Values(s.disks))...)
	case r.Do == "mount" && ok:
		return a, fmt.Errorf("there is a disk %q", r.Disk)
	case r.Do == "mount":
		if d, err = s.mount(r.At, r.Store); err == nil {
			s.disks[r.Disk] = d
		}
		return a, err
	case !ok:
		return a, fmt.Errorf("no disk %q", r.Disk)
	}
	switch r.Do {
	case "set":
		return a, d.set(r)
	case "sync":
		return a, syncAtOnce(d)
	case "pending":
		a.Lost = d.Pending()
		return a, nil
	case "hits":
		a.Hits = d.hits()
		return a, nil
	case "lose":
		a.Lost, err = d.Lose(r.Tear)
		return a, err
	}
	return a, fmt.Errorf("no such thing to do with a disk: %q", r.Do)
}
