package scenarios

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/workloads"
)

// sentEvent is that so many messages of a client's act have left it, and answeredEvent
// that so many of their answers are on their way to it. From then on nothing passes
// between the client and the others until the faults that follow at once have taken effect.
var (
	sentEvent = event{
		what: "sent", form: actMessages("sent"), example: "message of A's release sent, 2 messages of A's release to S answered",
		read: readActMessages, text: actMessagesText, wait: awaitGate,
	}
	answeredEvent = event{
		what: "answered", form: actMessages("answered"),
		read: readActMessages, text: actMessagesText, wait: awaitGate,
	}
	// ofActEvent is one that is written wrong.
	ofActEvent = event{
		what: "of an act", form: pattern(`^(?:messages?|\d+ messages?) (of .*)$`), text: clientText, at: unknownEvent,
		read: func(p *parser, n *yaml.Node, _ *Await, groups []string) error {
			return p.errorf(n, "await: %q: want an act of a client and what became of it, as message of A's release sent or 2 messages of A's release to redis answered", groups[0])
		},
	}
)

func actMessages(became string) func() *regexp.Regexp {
	return pattern(`^(?:message|(\d+) messages) of (\S+)'s (\S+)(?: to (.+))? ` + became + `$`)
}

func readActMessages(p *parser, n *yaml.Node, a *Await, groups []string) (err error) {
	a.N, a.Client, a.Act = 1, groups[1], groups[2]
	if groups[0] != "" {
		if a.N, err = strconv.Atoi(groups[0]); err != nil || a.N < 1 {
			return p.errorf(n, "await: %q is no number of messages", groups[0])
		}
	}
	if word, limit, err := workloads.ParseAct(a.Act); err != nil || word != a.Act || limit != 0 {
		return p.errorf(n, "await: unknown act %q of %s%s (a client can %s)", a.Act, a.Client, suggest.Word(a.Act, workloads.Acts()), strings.Join(workloads.Acts(), ", "))
	}
	if groups[3] != "" {
		a.Servers, err = p.targets(n, "await", groups[3])
	}
	return err
}

func actMessagesText(a *Await) string {
	count := "a message"
	if a.N > 1 {
		count = fmt.Sprintf("%d messages", a.N)
	}
	text := fmt.Sprintf("%s of %s's %s", count, a.Client, a.Act)
	if len(a.Servers) > 0 {
		text += " to " + strings.Join(a.Servers, ", ")
	}
	return text + " " + a.What
}

// gates checks that the act of which messages are awaited may still be under way, and has
// them counted from its beginning on.
func (o *order) gates(n *yaml.Node, a *Await) error {
	c := o.clients[a.Client]
	for i := range o.p.s.Steps {
		st := &o.p.s.Steps[i]
		if c.busy == 0 || st.Line != c.busy || st.Client != a.Client {
			continue
		}
		for act, text := range st.Acts {
			if verb(text) == a.Act {
				st.Gates = append(st.Gates, ActGate{act, a})
				return nil
			}
		}
	}
	return o.p.errorf(n, "await: no %s of %s is under way: start it without waiting, as %s: %s &", a.Act, a.Client, a.Client, a.Act)
}

func awaitGate(ctx context.Context, r *Runner, a *Await) error { return r.awaitGate(ctx, a) }
