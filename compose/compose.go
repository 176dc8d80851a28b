// Package compose knows what a cluster is made of: services in ordinary Compose
// files, with an x-picklock extension that says what picklock needs to know of
// each, and the interface behind which a runtime (compose/local, compose/docker)
// brings one up. It does not depend on locks, faults or histories.
package compose

import (
	"context"
	"io"
	"time"
)

// Role is what a node is there for.
type Role string

const (
	Server   Role = "server"   // a member of the lock service
	Client   Role = "client"   // runs one worker
	Register Role = "register" // the protected resource
	Helper   Role = "helper"   // asks the servers for the harness; no part of the experiment
)

// Node is one member of a running cluster: a process, or its container, with a
// network of its own. Both runtimes describe it in the same terms, so that every
// fault is written once.
type Node struct {
	Name string
	Role Role
	Addr string // IP address
	Port int    // of the service; 0 for clients
	// PID of the node's first process, as the injector sees it; 0 while the node is
	// down. On every start it is another one.
	PID int
	// NetNS is a path to the node's network namespace; "" where nodes share one.
	NetNS string
	// External is the address of a service that runs outside of the cluster, if the node is
	// a forwarder to it; else "".
	External string
}

// HostPort is the service's address as a client dials it.
func (n Node) HostPort() string { return hostPort(n.Addr, n.Port) }

// Program is one of picklock's own programs to run on a node of its own.
type Program struct {
	Name string
	Role Role
	Port int      // 0 if it listens on none
	Args []string // arguments of picklock itself
}

// Process is a program that runs on a node. Its standard error goes to the
// node's log.
type Process struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
	// Done is closed when it has ended, and its output was read or given up.
	Done <-chan struct{}
	// Err says how it ended, once Done is closed; nil for exit code 0.
	Err func() error
}

// Cluster is a set of running nodes.
type Cluster interface {
	// Nodes lists all nodes as they are now, servers first.
	Nodes() []Node
	// Spawn runs a program on a node of that name; the node is made on first use
	// and keeps its address when its program is spawned anew.
	Spawn(ctx context.Context, p Program) (*Process, error)
	// Kill ends all processes of a node at once (SIGKILL) and returns when they
	// are gone.
	Kill(ctx context.Context, node string) error
	// Restart starts a killed server again, with its data or without, and returns
	// when it answers. An error wraps ErrRuns if the server was not down, ErrKilled if it
	// was killed meanwhile, and ErrEnded if it ended by itself.
	Restart(ctx context.Context, node string, fresh bool) error
	// NeedsData says why a server cannot join the others again without its data; "" for one
	// that can, and for a node that is no server.
	NeedsData(node string) string
	// AroundStart has f called for every start of a node that gets a new network namespace
	// by it: what was done to the old one has to be done again. f calls start, which starts
	// the node's program and returns when its namespace is known, before the node is waited
	// for. An error of f is one of the start. A runtime whose nodes keep their namespaces
	// never calls f.
	AroundStart(f func(ctx context.Context, node string, start func() error) error)
	// Died reports a server that ended without having been killed, and a program of
	// picklock that ended badly; the error carries its last log lines, and is a
	// NodeEndedError where it is known which node that was.
	Died() <-chan error
	// Healthy returns nil if every server runs and answers as it did when it was started.
	Healthy(ctx context.Context) error
	// Versions is the version of each kind of server, by its title.
	Versions(ctx context.Context) map[string]string
	// Directory is the path, as clients see it, of the directory that they share; "" for
	// none.
	Directory() string

	// Leader names the server that says that it leads, "" if none does.
	Leader(ctx context.Context) (string, error)
	// Leads asks one server whether it leads. The error wraps errors.ErrUnsupported if there
	// are no replicas.
	Leads(ctx context.Context, node string) (bool, error)
	// Promote makes a server the one that leads, and all others that run its replicas. The
	// error wraps errors.ErrUnsupported if there are no replicas.
	Promote(ctx context.Context, node string) error
	// Refuse makes a server refuse writes, or take them again. One that is down takes them again when it is started. The
	// error wraps errors.ErrUnsupported if nothing says how.
	Refuse(ctx context.Context, node string, on bool) error
	// CanRefuse says whether something says how.
	CanRefuse(node string) bool
	// Refuses asks a server whether it refuses writes.
	Refuses(ctx context.Context, node string) (bool, error)
	// Takeover is how long the cluster may need to replace a leader that is gone; 0 if it
	// replaces none.
	Takeover() time.Duration

	// Disks are picklock's own disks below the servers; nil if they have none.
	Disks() Disks
	// AwaitWritten waits until all that a server has answered is in its log.
	AwaitWritten(ctx context.Context, node string) error
	// MarkSynced does so and notes what is there, for a power loss soon after.
	MarkSynced(ctx context.Context, node string) error
	// Loses says why a server without a disk of Disks cannot lose its power; nil if it can.
	Loses(ctx context.Context, node string) error
	// LosePower takes from a killed server's log what it had appended since the mark and not
	// synced by its own rule, and returns how many bytes that were. A killed process loses
	// nothing that it has written; a machine without power does.
	LosePower(ctx context.Context, node string) (int64, error)

	// Close ends everything that belongs to the cluster.
	Close() error
	// Left says, after Close, what could not be removed, why, and how to remove it.
	Left() []string
}

// Options is what a runtime needs to start a cluster.
type Options struct {
	Self    string // path of the picklock program
	LogDir  string // where <node>.log files go
	DataDir string // where servers keep their data; made by the runtime if missing
	Vars    map[string]string
	// Disks gives each server one of picklock's own disks, if the runtime has them (see
	// Cluster.Disks). It makes every sync slower.
	Disks bool
}

// ReadyWithin is how long a server may take until it answers.
const ReadyWithin = 30 * time.Second
