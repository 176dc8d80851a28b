package checker

import (
	"fmt"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/format"
)

// renewalsAsked counts the renewals that clients asked for, and the answers of the lock: it has renewed
// the lease, or the client no longer holds it.
type renewalsAsked struct {
	asked, answered int
	failed          string // why the first one failed that was not answered
}

func (n *renewalsAsked) note(e *history.Event) {
	switch {
	case e.Type == history.Invoke:
		n.asked++
	case e.Type == history.OK || e.NotHeld:
		n.answered++
	case n.failed == "":
		n.failed = e.Error
	}
}

// longestError is how much of an error is repeated, in bytes.
const longestError = 120

// unanswered says that renewals were asked for and the lock never answered one; "" otherwise.
func (n *renewalsAsked) unanswered() string {
	if n.asked == 0 || n.answered > 0 {
		return ""
	}
	why := fmt.Sprintf("none of %d %s had an answer", n.asked, format.Noun(n.asked, "renewal", "renewals"))
	if n.failed != "" {
		why += fmt.Sprintf(": %.*q", longestError, n.failed)
	}
	return why
}
