package clients

import (
	"context"
	"errors"
	"fmt"
)

// Unlocked lets one client change the resource together with others without any lock. It is
// here because many users who look for a lock need none.
type Unlocked interface {
	// Update makes one update of the resource, or another task of this client, only through
	// s. It returns when the outcome is known, or soon after ctx
	// has ended. Errors are for the log only: the history has the outcome of each
	// operation.
	Update(ctx context.Context, s Turn) error
	Close() error
}

// Turn is one turn of a client: its access to the resource and to the history.
type Turn interface {
	Key() string
	// Read reads the resource.
	Read(ctx context.Context) (Seen, error)
	// Over says that the run has ended: this is the client's last turn.
	Over() bool
	// Work is the work between check and act; false says that ctx has ended.
	Work(ctx context.Context) bool
	// Add is one update: an element of its own for the set that the resource holds.
	// do makes the update, and its error is the outcome; the history has one
	// operation, however often anything is sent. Errors that wrap neither ErrUnknown
	// are definite.
	Add(ctx context.Context, do func(element string) error) error
	// Send sends a change to the resource, once. An error that wraps ErrUnknown leaves
	// open whether it took effect; ErrOutdated: the resource answers that its
	// version is not the one that the change wants.
	Send(ctx context.Context, c Change) error
}

// Seen is what a read returned.
type Seen struct {
	Value   string
	Version int64
}

// Change is a set with one element more, as it goes to the resource.
type Change struct {
	Process string // whose update it is; "" for the client's own
	Element string
	Parent  string // the value that stands for the set without the element
	Version *int64 // only if the resource has this version; nil: whatever it has
	Merge   bool   // extend what the resource holds then, instead of Parent
	Once    string // idempotency key; "" for none
}

// ErrOutdated: the resource was changed since it was read.
var ErrOutdated = errors.New("changed since it was read")

// WithoutLock completes the table's line of an Unlocked: it cannot be opened as a lock.
func WithoutLock(i Info) Info {
	i.Open = func(context.Context, Options) (Lock, error) {
		return nil, fmt.Errorf("%s is no lock: nothing of it can be acquired", i.Name)
	}
	return i
}
