package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/picklock/picklock/workloads"
)

// FaultRequest is one fault that a step asks for.
type FaultRequest struct {
	Kind  string   // its name, as the nemesis has it
	Nodes []string // who is hit; of a partition, the senders
	// Peers are, of a partition, the receivers; with Both it goes both ways.
	Peers []string
	Both  bool
	By    time.Duration // of a clock: the jump
	Wipe  bool          // of a kill: the data is gone
}

// Stage is what a scenario is played on.
type Stage interface {
	// Act hands a client one act and returns at once; what came of it arrives on
	// the channel, once. A killed client's never does.
	Act(client, act string) (<-chan workloads.Done, error)
	// Inject does a fault, sees that it landed, and returns what undoes it.
	Inject(ctx context.Context, r FaultRequest) (heal func(context.Context) error, err error)
	// Mark notes what a server has written, for a later power loss.
	Mark(ctx context.Context, server string) error
	// Look counts what a server has for the lock: the holder and the waiting.
	Look(ctx context.Context, server string) (int, error)
	// Unread counts the connections on which a request has arrived at a server that has
	// not read it.
	Unread(ctx context.Context, server string) (int, error)
	// Servers lists the servers' names.
	Servers() []string
	// Now is the time in ns since the run's start.
	Now() int64
}

// Taken is one step that was taken.
type Taken struct {
	Line    int           `json:"line"`
	Text    string        `json:"text"`
	At      int64         `json:"at"` // ns since the run's start
	Took    time.Duration `json:"took"`
	Outcome string        `json:"outcome,omitempty"`
}

// StepError is a step that could not be taken as it was meant.
type StepError struct {
	File string
	Step Step
	Err  error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("%s:%d: %s: %v", e.File, e.Step.Line, e.Step.Text, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }
