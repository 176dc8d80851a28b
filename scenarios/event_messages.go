package scenarios

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// messageEvent is that messages are held at their sender's door.
var messageEvent = event{
	what: "message", form: pattern(`^(?:message|(\d+) messages) from (.+) to (.+)$`), example: "message from A to S, 2 messages from A to S",
	read: func(p *parser, n *yaml.Node, a *Await, groups []string) (err error) {
		a.N = 1
		if groups[0] != "" {
			if a.N, err = strconv.Atoi(groups[0]); err != nil || a.N < 1 {
				return p.errorf(n, "await: %q is no number of messages", groups[0])
			}
		}
		if a.From, err = p.targets(n, "await", groups[1]); err != nil {
			return err
		}
		a.Servers, err = p.targets(n, "await", groups[2])
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
		return r.stage.Messages(ctx, r.resolve(a.From), r.resolve(a.Servers), a.N)
	},
}
