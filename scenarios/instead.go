package scenarios

import (
	"fmt"

	"github.com/picklock/picklock/workloads"
)

// tooFew says of a move that it was over before the message came that a trigger is.
func tooFew(t Trigger, passed int) string {
	if t.At == Answered {
		return fmt.Sprintf("it was over after %d", passed)
	}
	return fmt.Sprintf("it sent %d and was over", passed)
}

// instead is what came instead of a trigger that never did: the move that was to send more messages was over, or its client
// passed it over after an answer that was no success. It is "" if the run does not tell.
func (r *Runner) instead(st *faultState) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.clients[st.When.Client]
	if st.tooFew != "" || c == nil || c.last == nil || !c.last.done {
		return st.tooFew
	}
	d := c.last.outcome
	if d.Outcome == workloads.Granted || d.Outcome == workloads.Did {
		return ""
	}
	text := fmt.Sprintf("%s's %s came to %s", st.When.Client, c.last.move, d.Outcome)
	if d.Error != "" {
		text += ": " + d.Error
	}
	return text
}
