package harness

import (
	"fmt"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/workloads"
)

// WorkloadFor is the workload that a lock is tested with where the user names none; ""
// for the usual one.
func WorkloadFor(lock clients.Info) string {
	if lock.Kind == "" {
		return ""
	}
	for _, w := range workloads.All() {
		if w.WritesNothing {
			return w.Name
		}
	}
	return ""
}

// holds says what of the options makes no sense where nothing is done under the lock,
// or where something would be done under a lock that does not protect it.
func (p *plan) holds() error {
	w, err := workloads.Lookup(p.Workload)
	if err != nil {
		return err
	}
	p.writesNothing = w.WritesNothing
	name := p.lock.Name
	alone := w.WritesNothing || p.scripted // in a program, who does not hold the lock alone writes nothing
	switch {
	case p.lock.Kind == clients.Semaphore && !alone:
		return fmt.Errorf("lock %s is a semaphore: several hold it at once, so it does not protect what --workload %s writes: use --workload %s", name, p.Workload, WorkloadFor(p.lock))
	case p.lock.Kind == clients.ReadWrite && !alone:
		return fmt.Errorf("lock %s is shared by readers, and in --workload %s everybody writes: use --workload %s", name, p.Workload, WorkloadFor(p.lock))
	case w.WritesNothing && p.CheckLease:
		return fmt.Errorf("--workload %s writes nothing: there is no write for --check-lease to look before", p.Workload)
	case w.WritesNothing && p.Fencing != "none":
		return fmt.Errorf("--workload %s writes nothing that the register could refuse: use --fencing none", p.Workload)
	}
	return nil
}
