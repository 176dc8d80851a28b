// Package clients knows how to talk to each lock service: one lock, one file,
// behind one small interface. It must not know faults, workloads or verdicts: a
// lock here does what a careful user of that service would write, and says
// honestly what it does not know.
package clients

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Lock is one client's connection to one lock service.
type Lock interface {
	// Acquire waits until the lock on key is granted or ctx ends. An error that
	// wraps ErrUnknown means that the service may have granted it all the same;
	// any other error means that it certainly did not.
	Acquire(ctx context.Context, key string) (Grant, error)
	// Release gives the grant back. ErrNotHeld: the service answers that the
	// client no longer holds it. An error that wraps ErrUnknown: it may or may not have been released.
	Release(ctx context.Context, g Grant) error
	Close() error
}

// Renewer is a lock whose lease its user can extend.
type Renewer interface {
	// Renew starts the lease anew. Errors as for Release.
	Renew(ctx context.Context, g Grant) (Renewal, error)
}

// Reopener is a lock that can begin anew in the process that it has.
type Reopener interface {
	// Reopen is the lock opened anew: none of its connections, sessions and timers is one from before. The lock itself is
	// closed by that, and may be closed again. An error, such as errors.ErrUnsupported, means that it has to be closed, and
	// another to be opened.
	Reopen(ctx context.Context, o Options) (Lock, error)
}

// Starter is a lock in a process of its own, which ends when it breaks the protocol or does not answer, and is started again with the
// next acquire.
type Starter interface {
	// Start starts that process now, if it has ended. anew says that it is not the one of the last call.
	Start(ctx context.Context) (anew bool, err error)
}

// Holder is a lock that can be asked whether a grant is still in force.
type Holder interface {
	// Holds asks as a careful user of the library would, right before something that only the holder
	// may do. true: the lock answers that the client holds it; false: that it does not. An error
	// means that it could not say.
	Holds(ctx context.Context, g Grant) (bool, error)
}

// Canceler is a lock whose user can cancel an acquire that has not returned: by an interrupt of its thread, the end of its
// task or of its context. A user who has cancelled it does not hold the lock, and never releases it.
type Canceler interface {
	// AcquireCancelled is Acquire, or AcquireShared, of a call that its user cancels after a time, if it has not returned by
	// then. If the library granted it the lock all the same, there is no error.
	AcquireCancelled(ctx context.Context, key string, shared bool, after time.Duration) (Grant, error)
}

// Grant is one successful acquire.
type Grant struct {
	Key   string
	Token int64 // fencing token, 0 where the lock has none

	// Since is the earliest instant (history.Now) at which the lease can have
	// begun: the send time of the request that was granted, or of the last
	// keepalive that was answered; never the time of a reply. Lease is how long
	// the service promises the grant from there. Both 0 for a lock that is bound
	// to a session and promises no time.
	Since int64
	Lease time.Duration

	// Expired: by what the library tells its user, the lock was over when Acquire returned it.
	Expired bool

	// Unrenewed: nobody renews this grant, although the lock's library renews others.
	Unrenewed bool

	// Lost closes when the client library itself learns that the grant is gone;
	// nil where it never does.
	Lost <-chan struct{}
	// Ended closes when the program that holds the grant ends by itself: its user has ended with it, and does nothing more
	// under the grant; nil if the lock is no program of its own.
	Ended <-chan struct{}
	// Renewals carries the extensions that the client library made by itself, as
	// they are answered; nil where it makes none. The sender never blocks: a
	// renewal that is not received is dropped, which only shortens what is known. It
	// is never closed.
	Renewals <-chan Renewal

	// Ref is the lock's own handle on the grant.
	Ref any
}

// Renewal is one extension of a lease, its fields as in Grant.
type Renewal struct {
	Since int64
	Lease time.Duration
}

var (
	// ErrUnknown marks an outcome that the client cannot know: the request may
	// have taken effect, or may yet.
	ErrUnknown = errors.New("outcome unknown")
	// ErrNotHeld is the service's answer that the grant is no longer in force.
	ErrNotHeld = errors.New("not held")
	// ErrCancelled is what an acquire ends with that its user has cancelled: the library has told its user that it does not
	// hold the lock.
	ErrCancelled = errors.New("cancelled")
	// ErrProgram marks what went wrong in the client's own program: it could not be
	// started or opened, ended by itself, or broke its protocol. It is no statement about
	// the lock service.
	ErrProgram = errors.New("the client's program failed")
)

// Sequencer asks the lock service, for a protected resource, whether a grant is in force.
type Sequencer interface {
	// Valid says whether the grant with this token held the lock on key at some
	// instant between the call and its return. An error means that this is unknown.
	Valid(ctx context.Context, key string, token int64) (bool, error)
	Close() error
}

// Options is what a lock needs to connect.
type Options struct {
	Servers []string          // host:port, in the cluster's order
	Client  string            // the process name, "c1"
	TTL     time.Duration     // the lease or session timeout to ask for
	Extra   map[string]string // settings of one lock only
	Log     *slog.Logger      // never nil

	// Abilities are what the user declares that the lock can do. They override what the lock
	// declares itself (see Info.Declares).
	Abilities map[string]string

	// Directory is one that all clients share, as this process sees it; "" where the
	// cluster has none.
	Directory string

	// Folder is where the program of an exec lock is started; "" for the working directory.
	Folder string

	// External is how to reach servers that are not picklock's own; nil for its own.
	External *External

	// Waiting, if not nil, is called when the service has put an acquire in
	// line or refused it for now, and Woken when the service has notified the waiting
	// client of a change. Both may be called from any goroutine.
	Waiting func()
	Woken   func()
	// Warn, if not nil, is called once for each reason why the run proves less than its user
	// may think. It may be called from any goroutine.
	Warn func(text string)
}

// TellWaiting calls Waiting if it is set.
func (o Options) TellWaiting() {
	if o.Waiting != nil {
		o.Waiting()
	}
}

// TellWoken calls Woken if it is set.
func (o Options) TellWoken() {
	if o.Woken != nil {
		o.Woken()
	}
}

// TellWarning calls Warn if it is set.
func (o Options) TellWarning(text string) {
	if o.Warn != nil {
		o.Warn(text)
	}
}

// Info describes a lock under test.
type Info struct {
	Name    string
	About   string // one line
	Cluster string // the compose file it runs on, by name; "" for none
	Fencing bool   // its tokens rise with every grant
	// Confirms: an ok release or renewal is the service's own statement that this
	// very grant was in force until then (the request compares the owner).
	Confirms bool
	Holds    bool // it is a Holder: its client can ask whether it holds the lock
	// Downgrades: it is a Downgrader: who has it exclusively can go on to share it.
	Downgrades bool
	Lingers    bool          // what was released stays taken until its lease has ended, as its library documents
	Cancels    bool          // it is a Canceler: its client can cancel an acquire that waits
	Several    bool          // a client can hold several keys at once
	OwnLeases  bool          // a client's lease is what this client asked for, whatever the others ask for
	Watchdog   bool          // its library renews the lease by itself for as long as the lock is held, and says so
	Notifies   bool          // its library promises to report the loss of a grant; the lock's file says where
	Kind       string        // what the lock promises: "" for a mutex, else see kind.go
	permits    int           // of a semaphore that has declared them; see Permits
	MinTTL     time.Duration // the smallest lease the service keeps to
	// LeaseUnit is what the service's leases are whole multiples of: it rounds others up. 0: it keeps
	// leases of any length.
	LeaseUnit time.Duration
	// Declares: Fencing, Confirms and Kind are known only once the lock is open, which is
	// a Declarer then; see With.
	Declares bool
	// Module is the Go module of the library that the lock is there to test, so that a
	// run can record its version; "" for picklock's own recipes.
	Module string
	// Library is the library that the lock is there to test if it is one of another language; nil
	// for the rest.
	Library *Library
	// Aliases are further names that Lookup accepts.
	Aliases []string
	// ConnectsLate: its client may connect at its first request, and not when it is opened. Programs and libraries may, too.
	ConnectsLate bool
	// Options are the settings that the lock knows (--lock-option); AnyOption says
	// that it takes whatever it is given.
	Options   []Option
	AnyOption bool
	// Naive marks a recipe that people copy from articles and that is known to be
	// wrong: it is here to show how it breaks.
	Naive bool
	// Inspect counts what the one server of o has for a key: the holder's entry and those
	// of the waiting clients. nil if that is not needed.
	Inspect func(ctx context.Context, o Options, key string) (int, error)
	// Service is the lock's service; nil if it has none, or if it is not made for
	// servers that others use, too.
	Service *Service
	// Unlocked opens access to the resource without a lock, in place of
	// Open; nil for a lock.
	Unlocked func(context.Context, Options) (Unlocked, error)
	// LockDelay is how long the service keeps a lost lock from others by design, besides
	// its lease; nil for not at all.
	LockDelay func(Options) time.Duration
	// Sequencer opens a connection that asks the service whether a grant is in force (see
	// register.FencingMode.Asks); nil where the service or its client cannot say.
	Sequencer func(context.Context, Options) (Sequencer, error)
	Open      func(context.Context, Options) (Lock, error)
}
