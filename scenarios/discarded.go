package scenarios

import "fmt"

// NeverCame begins why a run is discarded of which a fault's trigger did not come.
const NeverCame = "its trigger never came"

// DiscardedError is why a run proves nothing of its schedule: a fault did not take effect, or not
// at its trigger, or this machine was too slow for what the clients do.
type DiscardedError struct {
	TriggeredFault TriggeredFault // zero where it is not for a fault
	Move           string         // of whose client it is, "B: await A granted"; "" where it is not for a move
	Act            string         // what the lock cannot do, as workloads.Acts has it; "" if that is not why
	Why            string
	Instead        string // what came instead of the trigger; "" where it came, or the run does not tell
	Err            error  // what went wrong with the fault; nil where its trigger never came
	late           bool
}

// Busy says that this machine was too busy to inject the fault in time.
func (e *DiscardedError) Busy() bool { return e.late }

// Is makes one that came too late an ErrBusy.
func (e *DiscardedError) Is(target error) bool { return target == ErrBusy && e.late }

func (e *DiscardedError) Error() string {
	text := "discarded: "
	if of := e.TriggeredFault.Fault.Text + e.Move; of != "" {
		text += of + ": "
	}
	text += e.Why
	if e.Instead != "" {
		text += fmt.Sprintf(" (%s)", e.Instead)
	}
	return text
}

func (e *DiscardedError) Unwrap() error { return e.Err }
