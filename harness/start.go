package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/workloads"
)

// startWorkers starts all clients, and returns when their locks are open.
func (r *run) startWorkers(ctx context.Context, servers []string) error {
	r.programs.clients = len(r.names)
	r.workers = newWorkers(r.cluster, r.rec, r.workerConfig(servers, r.registerAddr()), r.driver.onMessage)
	type started struct {
		name string
		err  error
	}
	all := make(chan started, len(r.names))
	for _, name := range r.names {
		go func() { all <- started{name, r.workers.spawn(ctx, name, false)} }()
	}
	failed := map[string]error{}
	slow := time.NewTimer(openQuiet)
	defer slow.Stop()
	for len(failed) < len(r.names) {
		select {
		case s := <-all:
			failed[s.name] = s.err
		case <-slow.C:
			waits := slices.DeleteFunc(slices.Clone(r.names), func(name string) bool { _, opened := failed[name]; return opened })
			r.Observer.Phase(fmt.Sprintf("wait for %s, which open the lock, for at most %v more", format.And(waits), openWithin-openQuiet), time.Time{})
		}
	}
	return r.notStarted(failed)
}

// openQuiet is how long the opening of the locks may take before the user is told what the run waits for.
const openQuiet = 5 * time.Second

// workerTimeout is how long a client waits for an answer where nobody has said.
func (p *plan) workerTimeout() time.Duration { return max(2*p.TTL, time.Second) }

// longestFault is, in leases, how long the faults of most scenarios last, and some time to spare.
const longestFault = 6

// workerConfig is what all clients get, except for their names.
func (r *run) workerConfig(servers []string, registerAt string) workloads.Config {
	c := workloads.Config{
		Settings: r.Settings, Servers: servers, External: r.access, RegisterAddr: registerAt, KeyNames: r.keys,
		Wait: max(4*r.TTL, 2*time.Second), Timeout: cmp.Or(r.timeout, r.workerTimeout()),
		Extra: r.Extra, Abilities: r.Abilities, Scripted: r.scripted, Start: r.start,
	}
	if r.scripted {
		// A client that still waits when a lock is late by the bound shows that it is. The bound counts from the end of
		// the last fault, and a server or a program may take for as long to start anew. Whoever waits when nothing changes any more gives up
		// sooner (scenarios.Runner.Patience), and it is seen before whether another client is granted the lock.
		c.Wait = 2*r.bound + longestFault*r.TTL
	}
	c.Directory = r.cluster.Directory()
	return c
}
