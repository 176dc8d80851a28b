package disk

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/picklock/picklock/compose"
)

// gate is where a disk's faults are: whatever writes or syncs goes through it.
type gate struct {
	mu     sync.Mutex
	fault  compose.DiskFault
	stall  time.Duration
	hit    int64         // operations that the fault has kept waiting or refused since it was set
	change chan struct{} // closed when the fault or the power changes
	off    bool          // the disk has no power: nothing succeeds, and nothing waits
}

func newGate() *gate { return &gate{change: make(chan struct{})} }

// power takes the disk's power away, which ends what the fault keeps waiting, or brings it back.
// The fault stays.
func (g *gate) power(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.off = !on
	g.changed()
}

// changed has what waits look again. g.mu is held.
func (g *gate) changed() {
	close(g.change)
	g.change = make(chan struct{})
}

// set makes the disk suffer a fault, "" for none. Of a stall, d is how long each sync
// takes; 0: until the fault ends.
func (g *gate) set(fault compose.DiskFault, d time.Duration) error {
	switch fault {
	case compose.DiskWell, compose.DiskStall, compose.DiskFull, compose.DiskEIO:
	default:
		return fmt.Errorf("no disk fault %q", fault)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault, g.stall, g.hit = fault, d, 0
	g.changed()
	return nil
}

// hits is how many operations the fault has kept waiting or refused since it was set.
func (g *gate) hits() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hit
}

// write lets a write or a change of names through. It grows what is on the disk, or
// only changes it, which a full disk still can.
func (g *gate) write(grows bool) syscall.Errno {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.off:
		return syscall.EIO
	case g.fault == compose.DiskEIO:
		g.hit++
		return syscall.EIO
	case g.fault == compose.DiskFull && grows:
		g.hit++
		return syscall.ENOSPC
	}
	return 0
}

// sync lets a sync through, sooner or later. interrupted is closed when the caller got
// a signal; dying then reports whether that signal ends the process: a surviving process would see
// EINTR as an I/O error.
func (g *gate) sync(interrupted <-chan struct{}, dying func() bool) syscall.Errno {
	g.mu.Lock()
	fault, d, change, off := g.fault, g.stall, g.change, g.off
	if !off && (fault == compose.DiskEIO || fault == compose.DiskStall) {
		g.hit++
	}
	g.mu.Unlock()
	if off {
		return syscall.EIO
	}
	switch fault {
	case compose.DiskEIO:
		return syscall.EIO
	case compose.DiskStall:
	default:
		return 0
	}
	var over <-chan time.Time // never, without a time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	next := interrupted // for another fault
	var look <-chan time.Time
	for {
		select {
		case <-over:
			return 0
		case <-change:
			return g.sync(next, dying)
		case <-interrupted:
			// The kernel says so once, and a deadly signal may follow another.
			t := time.NewTicker(10 * time.Millisecond)
			defer t.Stop()
			again := make(chan struct{})
			close(again)
			interrupted, look, next = nil, t.C, again
		case <-look:
		}
		if look != nil && dying() {
			return syscall.EINTR
		}
	}
}
