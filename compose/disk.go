package compose

import (
	"context"
	"time"
)

// DiskFault is what is wrong with one of picklock's own disks.
type DiskFault string

const (
	DiskWell  DiskFault = ""
	DiskStall DiskFault = "stall" // a sync takes long, or does not end
	DiskFull  DiskFault = "full"  // nothing that needs room can be written (ENOSPC)
	DiskEIO   DiskFault = "eio"   // no write and no sync succeeds
)

// DiskProbe is the name of a file in the root of each of picklock's own disks that meets the
// disk's faults and changes nothing: what is written there is not kept.
const DiskProbe = ".picklock-probe"

// PowerLost is what a loss of power has taken from a server's disk.
type PowerLost struct {
	Bytes int64 `json:"bytes"` // written and not synced
	Files int   `json:"files"` // that they were in
	Names int   `json:"names"` // how often a file was made, moved or removed, and is not
	Torn  int64 `json:"torn"`  // bytes that were left of one write
}

// Disks are picklock's own disks below a cluster's servers, which know what was synced. A run
// that does not ask for them (Options.Disks) gets none.
type Disks interface {
	// SetDisk gives a server's disk a fault, DiskWell for none. Of a stall, d is how long each
	// sync takes; 0: until another fault is set.
	SetDisk(ctx context.Context, node string, fault DiskFault, d time.Duration) error
	// TryDisk writes to a server's disk and syncs, as the server would, and returns the
	// error; one that wraps ctx's if that takes longer than ctx.
	TryDisk(ctx context.Context, node string) error
	// DiskHits is how many operations of a server's disk its fault has kept waiting or refused
	// since it was set, those of TryDisk among them.
	DiskHits(ctx context.Context, node string) (int64, error)
	// Unsynced says what a loss of power would take from a server now.
	Unsynced(ctx context.Context, node string) (PowerLost, error)
	// CutPower discards what a server that is down has not synced. With tear, a part of one
	// write is left.
	CutPower(ctx context.Context, node string, tear bool) (PowerLost, error)
}

// NoDisk says why a server cannot run on picklock's own disk; "" if all can.
func (d *Definition) NoDisk() string {
	for _, s := range d.Members() {
		if s.Spec.Local != nil && s.Spec.Local.NoDisk != "" {
			return s.Name + " " + s.Spec.Local.NoDisk
		}
	}
	return ""
}

// LongestDiskLine is how many bytes a request or an answer may have.
const LongestDiskLine = 64 << 10

// DiskFiles is the folder below a disk's store in which its files are.
const DiskFiles = "files"

// DiskRequest is what the process that serves a run's disks is asked, as JSON on one line.
type DiskRequest struct {
	ID    int64         `json:"id"`
	Do    string        `json:"do"`   // mount, set, hits, lose, sync, pending
	Disk  string        `json:"disk"` // the server's name; of sync also "": all, at one moment
	At    string        `json:"at,omitempty"`
	Store string        `json:"store,omitempty"`
	Fault DiskFault     `json:"fault,omitempty"`
	Stall time.Duration `json:"stall,omitempty"` // ns
	Tear  bool          `json:"tear,omitempty"`
}

// DiskAnswer answers one DiskRequest, as JSON on one line.
type DiskAnswer struct {
	ID    int64     `json:"id"`              // of the request
	Error string    `json:"error,omitempty"` // "" if it was done
	Lost  PowerLost `json:"lost"`            // of lose, and what pending would lose
	Hits  int64     `json:"hits,omitempty"`  // of hits
}
