// Package proc knows this machine's processes: what state each is in, which descend
// from which, how one is bound to the life of its parent, and how to work inside
// another network namespace. It must not know nodes, clusters or locks, and it
// imports nothing but golang.org/x/sys.
package proc

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// Process is one process as the kernel lists it.
type Process struct {
	PID, Parent, Group int
	State              byte // as in /proc/PID/stat: T for stopped, Z for ended
	// CPU is what it has used, with its children that have ended; 0 where that is not known.
	CPU time.Duration
}

// Ended says that there is nothing left of it but its exit code.
func (p Process) Ended() bool { return p.State == 'Z' || p.State == 'X' }

// Stopped says that it was stopped by a signal or by its tracer.
func (p Process) Stopped() bool { return p.State == 'T' || p.State == 't' }

// Tree lists the processes that belong to pid, that one first: those of its process
// group, and all that descend from any of them. A group alone is not all of a server:
// each process that a Postgres server makes is a group of its own. It is empty when
// none is left.
func Tree(pid int) ([]Process, error) {
	all, err := List()
	if err != nil {
		return nil, err
	}
	return tree(all, pid), nil
}

// tree is Tree among all processes.
func tree(all []Process, pid int) []Process {
	var out []Process
	in := map[int]bool{}
	for more := true; more; { // a child may be listed before its parent
		more = false
		for _, p := range all {
			if !in[p.PID] && (p.PID == pid || p.Group == pid || in[p.Parent]) {
				in[p.PID], more = true, true
				out = append(out, p)
			}
		}
	}
	if i := slices.IndexFunc(out, func(p Process) bool { return p.PID == pid }); i > 0 {
		out[0], out[i] = out[i], out[0]
	}
	return out
}

// CPU is what a process and all that descend from it have used, those that have ended among
// them; 0 where that is not known.
func CPU(pid int) (time.Duration, error) {
	all, err := List()
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	in := map[int]bool{}
	for more := true; more; {
		more = false
		for _, p := range all {
			if !in[p.PID] && (p.PID == pid || in[p.Parent]) {
				in[p.PID], more = true, true
				sum += p.CPU
			}
		}
	}
	return sum, nil
}

// Living is Tree without the processes that have ended. Where none is left, the error
// wraps os.ErrProcessDone.
func Living(pid int) ([]Process, error) {
	all, err := Tree(pid)
	if err != nil {
		return nil, err
	}
	living := slices.DeleteFunc(all, Process.Ended)
	if len(living) == 0 {
		return nil, fmt.Errorf("process group %d: %w", pid, os.ErrProcessDone)
	}
	return living, nil
}
