package harness

import (
	"context"
	"errors"
	"time"

	"github.com/picklock/picklock/workloads"
)

// startWorkers starts the history and all clients, and returns when their locks are open.
func (r *run) startWorkers(ctx context.Context, servers []string) error {
	var err error
	r.programs.clients = len(r.names)
	if r.rec, err = newRecorder(r.dir.History()); err != nil {
		return err
	}
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
	for range r.names {
		s := <-all
		failed[s.name] = s.err
	}
	return errors.Join(err, r.notStarted(failed))
}

// workerConfig is what all clients get, except for their names.
func (r *run) workerConfig(servers []string, registerAt string) workloads.Config {
	c := workloads.Config{
		Settings: r.Settings, Servers: servers, External: r.access, RegisterAddr: registerAt, KeyNames: r.keys,
		Wait: max(4*r.TTL, 2*time.Second), Timeout: max(2*r.TTL, time.Second),
		Extra: r.Extra, Abilities: r.Abilities, Scripted: r.scripted, Start: r.start,
	}
	switch {
	case r.byProgram: // one that still waits when a lock is late by the bound shows that it is
		c.Wait = r.bound + 2*r.TTL
	case r.scripted: // a step's end is awaited, not given up: the client waits as long as one may
		c.Wait, c.Timeout = scriptWait, scriptTimeout
	}
	c.Directory = r.cluster.Directory()
	return c
}
