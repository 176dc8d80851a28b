package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/internal/lines"
)

// disks is the process that serves the servers' disks: one of its own, so that it
// outlives them, and so that no process that uses a disk waits for itself. It ends with the
// cluster, and takes the disks along.
type disks struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	client *lines.Client[compose.DiskRequest, compose.DiskAnswer]
	trying sync.WaitGroup
}

// diskProtocol is how the process is spoken to.
var diskProtocol = lines.Protocol[compose.DiskRequest, compose.DiskAnswer]{
	Longest: compose.LongestDiskLine,
	Number:  func(r *compose.DiskRequest, id int64) { r.ID = id },
	Take: func(line []byte, _ func(int64) (compose.DiskRequest, bool)) (int64, compose.DiskAnswer, error) {
		var a compose.DiskAnswer
		if err := json.Unmarshal(line, &a); err != nil {
			return 0, a, fmt.Errorf("it said %.200q: %w", line, err)
		}
		return a.ID, a, nil
	},
	End: func(error, []byte) error { return errors.New("what serves the disks is gone") },
}

// startDisks starts the process. How it ends, the cluster reports.
func (c *Cluster) startDisks() error {
	log, err := os.OpenFile(filepath.Join(c.opts.LogDir, "disks.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(c.opts.Self, "disk")
	cmd.Stderr = log
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	cmd.Stdout = w
	ended, err := c.spawner.start(cmd, "")
	if err != nil {
		return errors.Join(fmt.Errorf("serve disks: %w", err), r.Close())
	}
	c.disks = &disks{cmd: cmd, in: in, client: lines.NewClient(in, r, diskProtocol)}
	c.waiting.Go(func() {
		_ = ended()
		c.Report(func() error {
			return fmt.Errorf("what serves the servers' disks ended by itself: %s%s", cmd.ProcessState, compose.Tail(log.Name()))
		})
	})
	return nil
}

// ask has something done to a disk.
func (d *disks) ask(ctx context.Context, r compose.DiskRequest) (compose.DiskAnswer, error) {
	a, err := d.client.Ask(ctx, r)
	if err != nil {
		return a, fmt.Errorf("%s the disk of %s: %w", r.Do, r.Disk, err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("disk of %s: %s", r.Disk, a.Error)
	}
	return a, nil
}

// close ends the process; its disks are unmounted then, or torn off where that takes
// too long.
func (d *disks) close() error {
	err := d.in.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	t := time.NewTimer(10 * time.Second)
	defer t.Stop()
	select {
	case <-d.client.Ended():
	case <-t.C:
		err = errors.Join(err, errors.New("what serves the disks does not end: it was killed"), d.cmd.Process.Kill())
	}
	d.client.Wait()
	d.trying.Wait()
	return err
}

// mountDisk gives a server a disk.
func (c *Cluster) mountDisk(ctx context.Context, n *node) error {
	store := filepath.Join(c.opts.DataDir, ".disks", n.name)
	files := filepath.Join(store, compose.DiskFiles)
	if err := errors.Join(os.Mkdir(n.dir, 0o755), os.MkdirAll(files, 0o755)); err != nil {
		return err
	}
	if err := n.prepare(ctx, files); err != nil { // before the disk is there: through it, it takes longer
		return err
	}
	_, err := c.disks.ask(ctx, compose.DiskRequest{Do: "mount", Disk: n.name, At: n.dir, Store: store})
	n.disk, n.prepared = err == nil, err == nil
	return err
}

// Disks implements compose.Cluster.
func (c *Cluster) Disks() compose.Disks {
	if c.disks == nil {
		return nil
	}
	return c
}

// withDisk finds a server that has a disk.
func (c *Cluster) withDisk(name string) (*node, error) {
	if _, err := c.Find(name); err != nil {
		return nil, err
	}
	n := c.node(name)
	if !n.disk {
		return nil, fmt.Errorf("%s has no disk of its own here", name)
	}
	return n, nil
}

// diskExitGrace is how long after a fault of its disk a server may still end because of it: it
// logs and cleans up before it does.
const diskExitGrace = 10 * time.Second

// SetDisk implements compose.Disks. A server that ends by itself on a broken disk has
// not failed the run; when the disk works again, so does the server.
func (c *Cluster) SetDisk(ctx context.Context, name string, fault compose.DiskFault, d time.Duration) error {
	n, err := c.withDisk(name)
	if err != nil {
		return err
	}
	well := fault == compose.DiskWell
	if !well {
		// A start waits until the server answers, which it would not on a broken disk.
		done, err := c.Changing(ctx, name)
		if err != nil {
			return err
		}
		defer done()
		c.AllowExit(name, 24*time.Hour)
		c.setBroken(n, true)
	}
	if _, err := c.disks.ask(ctx, compose.DiskRequest{Do: "set", Disk: name, Fault: fault, Stall: d}); err != nil || !well {
		return err
	}
	if !c.setBroken(n, false) {
		return nil // it was well
	}
	c.AllowExit(name, diskExitGrace)
	return c.revive(ctx, name)
}

// setBroken notes whether a disk is broken, and returns whether it was.
func (c *Cluster) setBroken(n *node, broken bool) (was bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, n.broken = n.broken, broken
	return was
}

// revive starts a server that has ended because of its disk, if that works again.
func (c *Cluster) revive(ctx context.Context, name string) error {
	c.reviving.Lock()
	defer c.reviving.Unlock()
	c.mu.Lock()
	broken := c.nodes[name].broken
	c.mu.Unlock()
	now, err := c.Find(name)
	if err != nil || broken || now.PID != 0 || !c.MayExit(name) {
		return err
	}
	err = c.startServer(ctx, name, false)
	if !c.MayExit(name) {
		return nil // it was killed meanwhile: the fault that did so starts it
	}
	return err
}

// TryDisk implements compose.Disks. A disk that lost its power meanwhile is tried once more.
func (c *Cluster) TryDisk(ctx context.Context, name string) error {
	n, err := c.withDisk(name)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	c.disks.trying.Go(func() {
		done <- n.power.whole(ctx, func() error { return tryDisk(filepath.Join(n.dir, compose.DiskProbe)) })
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tryDisk writes and syncs. Not through package os: its poller would ask the disk about
// readiness.
func tryDisk(path string) error {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if _, err := syscall.Write(fd, []byte{0}); err != nil {
		return err
	}
	return syscall.Fsync(fd)
}

// Unsynced implements compose.Disks.
func (c *Cluster) Unsynced(ctx context.Context, name string) (compose.PowerLost, error) {
	if _, err := c.withDisk(name); err != nil {
		return compose.PowerLost{}, err
	}
	a, err := c.disks.ask(ctx, compose.DiskRequest{Do: "pending", Disk: name})
	return a.Lost, err
}

// DiskHits implements compose.Disks.
func (c *Cluster) DiskHits(ctx context.Context, name string) (int64, error) {
	if _, err := c.withDisk(name); err != nil {
		return 0, err
	}
	a, err := c.disks.ask(ctx, compose.DiskRequest{Do: "hits", Disk: name})
	return a.Hits, err
}

// CutPower implements compose.Disks.
func (c *Cluster) CutPower(ctx context.Context, name string, tear bool) (compose.PowerLost, error) {
	n, err := c.withDisk(name)
	if err != nil {
		return compose.PowerLost{}, err
	}
	done, err := c.Changing(ctx, name) // nobody else cuts it, either
	if err != nil {
		return compose.PowerLost{}, err
	}
	defer done()
	defer n.power.cut()()
	if now, err := c.Find(name); err != nil || now.PID != 0 {
		return compose.PowerLost{}, errors.Join(errors.New("it still runs"), err)
	}
	a, err := c.disks.ask(ctx, compose.DiskRequest{Do: "lose", Disk: name, Tear: tear})
	return a.Lost, err
}

// powerCuts knows when a disk was without power. Such a disk is not there: what is done to it
// then has met neither its files nor its fault.
type powerCuts struct {
	mu   sync.Mutex
	n    int           // how often it lost its power
	back chan struct{} // closed when it is back; nil if it is there
}

// cut notes that the power is gone, until back is called. One cut ends before the next.
func (p *powerCuts) cut() (back func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	p.back = make(chan struct{})
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		close(p.back)
		p.back = nil
	}
}

func (p *powerCuts) now() (n int, back <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n, p.back
}

// whole does what no loss of power may come into: it does it again after one.
func (p *powerCuts) whole(ctx context.Context, do func() error) error {
	for {
		n, back := p.now()
		if back != nil {
			select {
			case <-back:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		err := do()
		if after, _ := p.now(); after == n {
			return err
		}
	}
}
