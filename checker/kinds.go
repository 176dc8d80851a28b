package checker

import (
	"github.com/picklock/picklock/history"
)

// Locks that are no mutex. What kind a lock is, its grants say themselves: those of a
// semaphore how many permits there are, those of readers that they are shared, those of a
// reentrant lock that they are entries of a hold. One whose grants say nothing of that
// is a mutex; and one of which they say several things is not judged.

// mode is how a grant holds the lock.
type mode uint8

const (
	exclusive mode = iota
	shared         // with others that are shared
	nested         // once more by a process that holds it: one hold with those before
)

func modeOf(m string) mode {
	switch m {
	case history.Shared, history.Downgrade:
		return shared
	case history.Nested:
		return nested
	}
	return exclusive
}

// kind is what kind of lock a lock is, by its grants.
type kind struct {
	permits        int64 // of a semaphore, 0 for none
	severalN       bool  // its grants say several numbers of permits
	shared, nested bool  // some grant is
}

// learn takes in what a grant says of its lock. Of several numbers of permits the
// greatest counts: no more is allowed than that, and a record that does not show more proves nothing.
func (k *kind) learn(e *history.Event) {
	k.severalN = k.severalN || k.permits > 0 && e.Permits > 0 && e.Permits != k.permits
	k.permits = max(k.permits, min(e.Permits, never))
	k.shared = k.shared || e.Shares()
	k.nested = k.nested || e.Mode == history.Nested
}

func (k *kind) mutex() bool { return k.permits <= 0 && !k.shared && !k.nested }

// together says that the lock lets both grants hold it at once. Then it orders nothing that is done
// under them.
func together(a, b *grant) bool {
	return a.lock.permits > 1 || a.mode == shared && b.mode == shared
}

// busyFor says whether the lock kept back a client that asks for it now.
func (k *lock) busyFor(e *history.Event, t int64) bool {
	left := k.now.left > t && k.now.leftBy != e.Process
	switch {
	case e.Shares():
		return k.now.exclusive > 0 || left
	case e.Permits > 0:
		return int64(k.now.held) >= e.Permits
	}
	return k.now.held > 0 || left
}

// leave notes that a client was killed while it had the lock: its lease keeps others out until it ends.
func (k *lock) leave(g *grant) {
	if until := max(satAdd(g.since, g.lease), g.renewed.promised()); g.lease > 0 && g.mode == exclusive && until > k.now.left {
		k.now.left, k.now.leftBy = until, g.process
	}
}

// contestedBy says whether another client had to wait for this grant's end, or this one
// for another's. o is the grant's acquire, nil if it is not known.
func (k *lock) contestedBy(g *grant, o *op) bool {
	waited := o != nil && o.busy
	switch {
	case g.mode == nested:
		return false
	case g.mode == shared:
		return waited
	case k.permits > 0:
		return waited || int64(k.now.open)+int64(k.now.held) >= k.permits
	}
	return k.now.open > 0 || waited
}
