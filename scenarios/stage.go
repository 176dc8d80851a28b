package scenarios

import (
	"context"
	"time"

	"github.com/picklock/picklock/internal/link"
	"github.com/picklock/picklock/workloads"
)

// FaultRequest is one fault that a stage is asked for.
type FaultRequest struct {
	Kind  string   // its name, as the nemesis has it
	Nodes []string // who is hit; of a partition, the senders
	// Peers are, of a partition, the receivers; with Both it goes both ways.
	Peers []string
	Both  bool
	// By, Rate and Strobe are how a clock goes wrong: a jump, how many seconds it counts in
	// a true one (0 is 1), a jump to and fro.
	By     time.Duration
	Rate   float64
	Strobe time.Duration
	Wipe   bool // of a kill: the data is gone
	// Manner is, of a reset, how connections end: "" both ends are informed, "silently"
	// neither, "half-open" one end only has forgotten it.
	Manner string
	// Disk is what is wrong with a disk: stall, full or eio; of a stall, Stall is how long a
	// sync takes, 0 for as long as the fault is on.
	Disk  string
	Stall time.Duration
	Torn  bool // of a power loss: a part of one write is left
	// Slow, Loss and Flap are how bad a link is; Loss is the part of the packets that is lost,
	// Flap how long it is down, and up, each time.
	Slow link.Slow
	Loss float64
	Flap time.Duration
}

// Stage is what a scenario is run on.
type Stage interface {
	// Act hands a client one act and returns at once; what came of it arrives on
	// the channel, once. A killed client's never does.
	Act(client, act string) (<-chan workloads.Done, error)
	// Inject does a fault, sees that it took effect, and returns what undoes it.
	Inject(ctx context.Context, r FaultRequest) (heal func(context.Context) error, err error)
	// Messages returns when so many messages from some nodes to others are held.
	Messages(ctx context.Context, from, to []string, count int) error
	// Deliver lets so many of the messages from some nodes to others go, which it waits
	// for where they have not come yet, and goes on holding.
	Deliver(ctx context.Context, from, to []string, count int) error
	// Gate counts a client's messages from now on, for an act that is about to begin, and
	// lets nothing pass after the last: see Gate. It must be opened in the end.
	Gate(ctx context.Context, r GateRequest) (Gate, error)
	// Mark sees to it that a later power loss takes nothing that a server has written
	// before.
	Mark(ctx context.Context, server string) error
	// Look counts what a server has for the lock: the holder and the waiting.
	Look(ctx context.Context, server string) (int, error)
	// Unread counts the connections on which a request has arrived at a server that has
	// not read it.
	Unread(ctx context.Context, server string) (int, error)
	// Servers lists the servers' names.
	Servers() []string
	// Leader is the server that leads the others just now; "" if none does.
	Leader(ctx context.Context) (string, error)
	// Now is the time in ns since the run's start.
	Now() int64
}

// Taken is one move or fault that was carried out.
type Taken struct {
	Line    int           `json:"line"` // of a fault
	Text    string        `json:"text"`
	At      int64         `json:"at"` // ns since the run's start
	Took    time.Duration `json:"took"`
	Outcome string        `json:"outcome,omitempty"`
}
