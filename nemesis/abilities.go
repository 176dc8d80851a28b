package nemesis

import "context"

// What only some faults and some injectors can do.

// Awaiter is a fault that knows when it has done its harm: it ends then, and by
// the planned duration only if that never comes.
type Awaiter interface {
	Await() <-chan struct{} // nil: it does not know
}

// SocketReader is an injector whose nodes' tables of sockets are not this machine's.
type SocketReader interface {
	// Sockets reads the table of TCP sockets of a node, /proc/PID/net/tcp.
	Sockets(ctx context.Context, pid int) (string, error)
}
