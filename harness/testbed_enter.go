package harness

import (
	"context"
	"slices"

	"github.com/picklock/picklock/scenarios"
)

// Who may run on a testbed at a time.

// enter returns when a run may begin: alone with no other beside it, else beside others. A testbed
// whose servers are not up, or may not be whole, is entered by one that makes them so first.
func (l *Testbed) enter(ctx context.Context, alone bool) error {
	waited := false
	for {
		l.mu.Lock()
		only := alone || l.at == nil || l.at.doubtful()
		free := !l.only && l.running < l.sets && (l.wanting == 0 || alone)
		if only {
			free = l.running == 0
		}
		switch {
		case free:
			l.running++
			l.only = only
			if waited {
				l.wanting--
			}
		case alone && !waited:
			waited = true
			l.wanting++
		}
		changed := l.changed
		l.mu.Unlock()
		if free {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if waited {
				l.mu.Lock()
				l.wanting--
				l.change()
				l.mu.Unlock()
			}
			return ctx.Err()
		}
	}
}

// shared lets others beside a run that had the testbed to itself.
func (l *Testbed) shared() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.only {
		l.only = false
		l.change()
	}
}

// leave ends a run. set is nil for one that never began.
func (l *Testbed) leave(ctx context.Context, set *clientSet, s *scenarios.Scenario, alone bool, failed error) error {
	l.mu.Lock()
	b := l.at
	l.mu.Unlock()
	var err error
	if b != nil {
		err = b.leave(ctx, set, s, alone, failed)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	if l.running == 0 || alone {
		l.only = false
	}
	l.change()
	return err
}

// change tells all who wait; l.mu is held.
func (l *Testbed) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// OnlyClients says that nothing of a schedule concerns more than its own clients and their links.
func OnlyClients(s *scenarios.Scenario, clients []string) bool {
	own := func(names []string) bool {
		return len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(clients, n) })
	}
	told := func(a *scenarios.Await) bool { return a == nil || a.Client != "" && len(a.Servers)+len(a.From) == 0 }
	for _, st := range s.TriggeredFaults {
		if !own(st.Fault.Nodes) && !own(st.Fault.Peers) || !told(st.When.Await) || !told(st.Until.Await) {
			return false
		}
	}
	for _, p := range s.Programs {
		if slices.ContainsFunc(p, func(m scenarios.Move) bool { return !told(m.Await) }) {
			return false
		}
	}
	return s.Programs != nil
}
