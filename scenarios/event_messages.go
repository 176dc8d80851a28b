package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// messageEvent is that messages are held in their sender's packet queue.
var messageEvent = event{
	what: "message", form: pattern(`^(?:message|(\d+) messages) from (.+) to (.+)$`), example: "message from A to S, 2 messages from A to S",
	read: func(p *parser, n *yaml.Node, a *Await, groups []string) (err error) {
		a.N = 1
		if groups[0] != "" {
			if a.N, err = strconv.Atoi(groups[0]); err != nil || a.N < 1 {
				return p.errorf(n, "await: %q is no number of messages", groups[0])
			}
		}
		if a.From, err = p.targets(n, "await", groups[1], " and "); err != nil {
			return err
		}
		a.Servers, err = p.targets(n, "await", groups[2], " and ")
		return err
	},
	text: func(a *Await) string {
		count := "a message"
		if a.N > 1 {
			count = fmt.Sprintf("%d messages", a.N)
		}
		return fmt.Sprintf("%s from %s to %s", count, strings.Join(a.From, ", "), strings.Join(a.Servers, ", "))
	},
	wait: func(ctx context.Context, r *Runner, a *Await) error {
		if err := r.awaitThat(ctx, r.holding); err != nil {
			return err
		}
		return r.stage.Messages(ctx, r.resolve(a.From), r.resolve(a.Servers), a.N)
	},
}

// holding says that a hold is on: before that nothing is held that could be awaited. r.mu is held.
func (r *Runner) holding() bool {
	return slices.ContainsFunc(r.faults, func(st *faultState) bool {
		return (st.Fault.Word == "hold" || st.Fault.Word == withholdName) && st.on && st.landed
	})
}

// ofActEvent is one that is none: which messages of a move have passed is known only where a fault
// is triggered by them.
var ofActEvent = event{
	what: "of an act", form: pattern(`^(?:messages?|\d+ messages?) (of .*)$`), text: clientText, at: unknownEvent,
	read: func(p *parser, n *yaml.Node, _ *Await, groups []string) error {
		return p.errorf(n, "await: %q: messages of a move are a fault's trigger, as when: A's acquire has sent message 1", groups[0])
	},
}
