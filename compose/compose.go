// Package compose knows what a cluster is made of: services in ordinary Compose
// files, with an x-picklock extension that says what picklock needs to know of
// each, and the small interface behind which a runtime (compose/local,
// compose/docker) brings one up. It must not know locks, faults or histories.
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
	// PID of the node's first process, as whoever lays hands on it sees it; 0
	// while the node is down. On every start it is another one.
	PID int
	// NetNS is a path to the node's network namespace; "" where nodes share one.
	NetNS string
	// External is the address of the service that the node stands for, which runs outside
	// of the cluster: the node hands on connections to it. "" for a node that is what it
	// is called.
	External string
}

// HostPort is the service's address as a client dials it.
func (n Node) HostPort() string { return hostPort(n.Addr, n.Port) }

// Program is one of our own programs to run on a node of its own.
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
	// when it answers.
	Restart(ctx context.Context, node string, fresh bool) error
	// Leader names the server that says that it leads, "" if none does.
	Leader(ctx context.Context) (string, error)
	// Died reports a server that ended without having been killed, and a program of
	// ours that ended badly; the error carries its last log lines.
	Died() <-chan error
	// Close ends everything that belongs to the cluster.
	Close() error
}

// Options is what a runtime needs to start a cluster.
type Options struct {
	Self    string // path of the picklock program
	LogDir  string // where <node>.log files go
	DataDir string // where servers keep their data; made by the runtime if missing
	Vars    map[string]string
	// Disks gives each server a disk that knows what was synced, where the runtime can
	// (see Disked). It makes every sync slower.
	Disks bool
}

// ReadyWithin is how long a server may take until it answers.
const ReadyWithin = 30 * time.Second
