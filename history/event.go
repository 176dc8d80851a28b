// Package history knows the record of a run: the events that clients and the
// nemesis wrote down, the effects that the fenced register carried out, and how
// both are stored as JSON lines. It must not know what an event means for a
// verdict, nor where it came from. It imports nothing of picklock.
package history

// Type says where in an operation's life an event stands.
type Type string

// The meanings are Jepsen's: ok took effect, fail certainly did not, info may
// have taken effect, then, later or never.
const (
	Invoke Type = "invoke"
	OK     Type = "ok"
	Fail   Type = "fail"
	Info   Type = "info"
)

// What an operation does (Event.F). Events of process Nemesis carry a fault's
// name instead.
const (
	Acquire = "acquire"
	Release = "release"
	Renew   = "renew"
	Holds   = "holds" // asks whether the grant is still in force
	Lost    = "lost"
	Read    = "read"
	Write   = "write"
	Add     = "add"
)

// How a lock is acquired (Event.Mode), if not for oneself alone.
const (
	Shared = "shared" // together with others who share it
	Nested = "nested" // once more, by the process that holds it
	// Downgrade makes a shared grant of the exclusive one that the process has: that is over, and no other client is
	// to have had the lock exclusively in between.
	Downgrade = "downgrade"
)

// Shares says that the event speaks of a grant that others can share.
func (e *Event) Shares() bool { return e.Mode == Shared || e.Mode == Downgrade }

// Nemesis is the process name under which faults are recorded.
const Nemesis = "nemesis"

// The phases of a fault (Event.Phase).
const (
	Begin = "begin"
	End   = "end"
)

// Event is one line of history.jsonl. All times are nanoseconds of
// CLOCK_MONOTONIC since the run's start.
type Event struct {
	Index   int64  `json:"index"`
	Time    int64  `json:"time"`
	Process string `json:"process"`
	Type    Type   `json:"type"`
	F       string `json:"f"`
	// Machine is whose clock the event's times are of, where processes of several
	// machines wrote the history; "" if another event of the process names it, or it does not matter.
	Machine string `json:"machine,omitempty"`

	Key   string `json:"key,omitempty"`
	Grant string `json:"grant,omitempty"` // "c1.7": the process and the number of its acquire
	Token int64  `json:"token,omitempty"` // fencing token; 0 where the lock has none
	Value string `json:"value,omitempty"` // unique in a run for written values; "" on a read of nothing

	// Since is the earliest instant at which the grant's lease can have begun,
	// and Lease its promised length; both absent where the lock promises no
	// time. On a renew they describe the renewed lease. Of a fault's end, Since is when picklock began to undo it:
	// from then on it may have been over.
	Since int64 `json:"since,omitempty"`
	Lease int64 `json:"lease,omitempty"`
	// Mode, on an acquire and its completion, says what was asked for where that is
	// not the lock for oneself: Shared, Nested or Downgrade. Permits is how many may hold the lock
	// at once, where it is a semaphore.
	Mode    string `json:"mode,omitempty"`
	Permits int64  `json:"permits,omitempty"`
	// Watchdog, on an acquire's ok, says that the client's library promises to renew the lease by itself for as long
	// as its client holds the lock.
	Watchdog bool `json:"watchdog,omitempty"`
	// Expired, on an acquire's ok, says that the lock was over by then, by what the library tells its user.
	Expired bool `json:"expired,omitempty"`
	// Lingers, on an acquire's ok, says that the library documents of its release that the lock stays taken until the lease has ended.
	Lingers bool `json:"lingers,omitempty"`
	// Notifies, on an acquire's ok, says that the client's library promises to report it when the grant is lost, soon
	// after the lease, even if it cannot reach the service.
	Notifies bool `json:"notifies,omitempty"`
	// Held, on an ok release or renew, says that the service itself confirmed
	// that the grant was in force until that request reached it. On an ok holds it is the
	// lock's answer that the client holds it.
	Held bool `json:"held,omitempty"`
	// NotHeld is the lock's answer that the grant is no longer in force: on a release or renew
	// that failed, and on an ok holds. On a lost it says that the client's library gave the notice.
	NotHeld bool `json:"not_held,omitempty"`

	Error string `json:"error,omitempty"`
	// Cancelled, on an acquire that is not ok, says that its client had cancelled it: it was told that it does not hold the lock.
	Cancelled bool `json:"cancelled,omitempty"`
	// ClientFailed, on a completion that is not ok, says that the client's own program
	// failed: it could not be started or opened, ended by itself, or broke its protocol.
	// Such an operation says nothing of whether the lock was to be had.
	ClientFailed bool `json:"client_failed,omitempty"`

	// Faults only.
	Nodes     []string `json:"nodes,omitempty"`
	Phase     string   `json:"phase,omitempty"`
	Confirmed bool     `json:"confirmed,omitempty"` // on begin: the effect was observed
	// Fault, on begin, is the fault as steps of a scenario that repeat it, "; " between them:
	// "clock: redis +2m0s; clock: c1 +2m0s".
	Fault  string `json:"fault,omitempty"`
	Detail string `json:"detail,omitempty"` // the same for people: "wall clock +2m0s"
}

// formerConfirmed is the name that Event.Confirmed had in earlier histories. It is read and
// never written. An event of which either member is true is confirmed.
const formerConfirmed = "landed"

// Effect is one line of register.jsonl: one operation in the order in which the
// fenced register carried it out (Error empty) or refused it (Error says why).
type Effect struct {
	Seq     int64  `json:"seq"`  // 1, 2, 3, ... over all keys: the one true order
	Time    int64  `json:"time"` // ns since the run's start
	Process string `json:"process"`
	F       string `json:"f"` // read, write or add
	Key     string `json:"key"`
	Grant   string `json:"grant,omitempty"`
	Token   int64  `json:"token,omitempty"`
	Value   string `json:"value,omitempty"`   // written, or as read
	Parent  string `json:"parent,omitempty"`  // add: the value that the set was extended from, as the client had read it
	Version int64  `json:"version"`           // of the key after this operation; a write or add makes a new one
	Highest int64  `json:"highest,omitempty"` // highest token seen on the key, after this operation
	Error   string `json:"error,omitempty"`
}
