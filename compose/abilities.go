package compose

import (
	"context"
	"time"
)

// What only some runtimes, or only clusters of some definitions, can do. A Cluster that
// has the methods has the ability.

// Sharing is a Cluster whose clients share a directory, where its definition has one.
type Sharing interface {
	// Directory is its path as the clients see it, "" for none.
	Directory() string
}

// Renewing is a Cluster whose nodes get a new network namespace on every start, so
// that what was done to the old one has to be done again.
type Renewing interface {
	// AroundStart has f called for every start of a node from now on. f calls start, which
	// starts the node's program and returns when its namespace is known, before the node is
	// waited for. An error of f is one of the start.
	AroundStart(f func(ctx context.Context, node string, start func() error) error)
}

// Checking is a Cluster that can say whether its servers work.
type Checking interface {
	// Healthy returns nil if every server runs and answers as it did when it was
	// started.
	Healthy(ctx context.Context) error
}

// Versioned is a Cluster that knows what its servers are.
type Versioned interface {
	// Versions tells the version of each kind of server, by its title.
	Versions(ctx context.Context) map[string]string
}

// Promoting is a Cluster that may have replicas. Its errors wrap errors.ErrUnsupported
// where there are none.
type Promoting interface {
	// Promote makes a server the one that leads, and all others that run its
	// replicas.
	Promote(ctx context.Context, node string) error
	// Leads asks one server whether it leads.
	Leads(ctx context.Context, node string) (bool, error)
}

// Replacing is a Cluster that may replace a leader that is gone.
type Replacing interface {
	// Takeover is how long that may take; 0 where it replaces none.
	Takeover() time.Duration
}

// Unsynced is a Cluster that knows which of a server's writes were still in the
// kernel's memory. A killed process loses none of them, a machine without power
// does.
type Unsynced interface {
	// AwaitWritten waits until all that a server has answered is in its log.
	AwaitWritten(ctx context.Context, node string) error
	// MarkSynced does so and notes what is there, for a power loss soon after.
	MarkSynced(ctx context.Context, node string) error
	// Loses says why a power loss of a server cannot be played; nil where it can.
	Loses(ctx context.Context, node string) error
	// LosePower takes from a killed server's log what it had appended since the
	// mark and not synced by its own rule, and returns how many bytes that were.
	LosePower(ctx context.Context, node string) (int64, error)
}

// Leaving is a Cluster that may be unable to remove all that it made.
type Leaving interface {
	// Left says, after Close, what is still there, why, and how to get rid of it.
	Left() []string
}
