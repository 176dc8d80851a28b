// Package local runs a cluster on this machine without Docker: every node is a
// process group in a network namespace of its own, all inside fresh namespaces
// that the kernel takes down when the run ends, however it ends. Where
// namespaces cannot be had, nodes are plain child processes on loopback
// addresses. It does not depend on locks, faults or histories.
package local

import "os"

// Sandbox is the place where this process runs clusters.
type Sandbox struct {
	// Isolated: this process is the first one in user, network, mount, IPC and
	// PID namespaces of its own.
	Isolated bool
	// Why says what stood in the way of namespaces where Isolated is false.
	Why string

	// outside is where to ask for connections out of the sandbox (see forward.Outside);
	// nil where its nodes share this machine's network.
	outside *os.File
}

// The environment variable that tells the re-executed program where it is.
const sandboxEnv = "PICKLOCK_LAB"
