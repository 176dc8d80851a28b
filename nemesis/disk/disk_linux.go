package disk

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/picklock/picklock/compose"
)

// Disk is one that is mounted. A user of its files must not be the process that
// serves them: the two would wait for each other.
type Disk struct {
	at      string
	journal *journal
	gate    *gate
	server  *fuse.Server
	served  chan struct{} // closed when the server has ended

	mu      sync.Mutex
	handles map[uint64][]*handle // by inode
}

// Mount mounts a disk at a folder, in this process's namespaces. Its files are kept
// below store, all that is there is durable.
func Mount(at, store string) (*Disk, error) {
	j, err := newJournal(filepath.Join(store, compose.DiskFiles), filepath.Join(store, "trash"))
	if err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
	}
	d := &Disk{at: at, journal: j, gate: newGate()}
	return d, d.mount()
}

func (d *Disk) mount() error {
	forever := 24 * time.Hour // no other process changes the files, and a loss of power mounts anew
	root := &node{disk: d}
	d.handles = map[uint64][]*handle{}
	server, err := fs.Mount(d.at, root, &fs.Options{
		AttrTimeout: &forever, EntryTimeout: &forever, NullPermissions: true,
		MountOptions: fuse.MountOptions{
			DirectMountStrict: true, AllowOther: true, Options: []string{"default_permissions"},
			Name: "picklock", FsName: "picklock", MaxWrite: 1 << 20, DisableXAttrs: true, DisableSplice: true,
			Logger: log.New(io.Discard, "", 0),
		},
	})
	if err != nil {
		return fmt.Errorf("mount a disk at %s: %w (it needs a /dev/fuse that the user may open, and namespaces)", d.at, err)
	}
	d.server, d.served = server, make(chan struct{})
	go func(served chan struct{}) {
		defer close(served)
		server.Wait()
	}(d.served)
	return nil
}

// unmount takes the disk away. What is still open on it is gone.
func (d *Disk) unmount() error {
	if err := unix.Unmount(d.at, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("unmount the disk at %s: %w", d.at, err)
	}
	t := time.NewTimer(5 * time.Second)
	defer t.Stop()
	select {
	case <-d.served:
		return nil
	case <-t.C:
		return fmt.Errorf("unmount the disk at %s: something still has files of it open", d.at)
	}
}

// Close ends the disk. Its files stay below its store.
func (d *Disk) Close() error { return errors.Join(d.gate.set(compose.DiskWell, 0), d.unmount()) }

// Lose takes away all that was not synced, as a loss of power does. No process may use
// the disk any more, but for one that tries it. With tear, one write stays in part.
func (d *Disk) Lose(tear bool) (compose.PowerLost, error) {
	d.gate.power(false)
	defer d.gate.power(true)
	if err := d.unmount(); err != nil {
		return compose.PowerLost{}, err
	}
	lost, err := d.journal.lose(tear)
	if err != nil {
		return lost, fmt.Errorf("take back what was not synced on the disk at %s: %w", d.at, err)
	}
	return lost, d.mount()
}

// Freeze lets nothing on the disk change until sync is called, once, which makes all durable
// that is on it.
func (d *Disk) Freeze() (sync func() error) { return d.journal.freeze() }

// Pending says what a loss of power would take now.
func (d *Disk) Pending() compose.PowerLost { return d.journal.pending() }

// opened notes a handle.
func (d *Disk) opened(ino uint64, f *os.File, writes bool) *handle {
	h := &handle{disk: d, ino: ino, file: f, writes: writes}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handles[ino] = append(d.handles[ino], h)
	return h
}

func (d *Disk) closed(h *handle) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rest := d.handles[h.ino]
	for i, x := range rest {
		if x == h {
			rest = append(rest[:i:i], rest[i+1:]...)
			break
		}
	}
	if d.handles[h.ino] = rest; len(rest) == 0 {
		delete(d.handles, h.ino)
	}
}

// open returns a handle of a file that is open, nil if it is not.
func (d *Disk) open(ino uint64) *handle {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.handles[ino]; len(h) > 0 {
		return h[0]
	}
	return nil
}

// hits is how many operations the disk's fault has kept waiting or refused since it was set.
func (d *Disk) hits() int64 { return d.gate.hits() }

func (d *Disk) set(r compose.DiskRequest) error { return d.gate.set(r.Fault, r.Stall) }
