package scenarios

import "fmt"

// DiscardedError is why a run proves nothing of its schedule: a fault did not take effect, or not
// at its trigger, or this machine was too slow for what the clients do.
type DiscardedError struct {
	TriggeredFault TriggeredFault // zero where it is not for a fault
	Move           string         // of whose client it is, "B: await A granted"; "" where it is not for a move
	Act            string         // what the lock cannot do, as workloads.Acts has it; "" if that is not why
	Why            string
	Err            error // what went wrong with the fault; nil where its trigger never came
	late           bool
}

// Busy says that this machine was too busy to inject the fault in time.
func (e *DiscardedError) Busy() bool { return e.late }

// Is makes one that came too late an ErrBusy.
func (e *DiscardedError) Is(target error) bool { return target == ErrBusy && e.late }

func (e *DiscardedError) Error() string {
	if of := e.TriggeredFault.Fault.Text + e.Move; of != "" {
		return fmt.Sprintf("discarded: %s: %s", of, e.Why)
	}
	return "discarded: " + e.Why
}

func (e *DiscardedError) Unwrap() error { return e.Err }
