package scenarios

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// leaseEvent is the end of the lease that a client was last granted.
var leaseEvent = event{
	what: "lease", form: pattern(`^lease of (\S+) over$`), example: "lease of A over",
	read: func(_ *parser, _ *yaml.Node, a *Await, groups []string) error {
		a.Client = groups[0]
		return nil
	},
	text: func(a *Await) string { return "the end of " + a.Client + "'s lease" },
	at: func(r *Runner, a *Await) (int64, error) {
		c := r.clients[a.Client]
		if c.granted != 0 && c.until == 0 && !a.Or.some() {
			return 0, fmt.Errorf("%s's grant promises no lease: await what follows from its end", a.Client)
		}
		return c.until, nil
	},
}

// afterEvent is a time after a client's latest acquire was sent or granted.
var afterEvent = event{
	what: "after", form: pattern(`^(\S+) after (\S+) (granted|asked)$`), example: "700ms after A granted",
	read: func(p *parser, n *yaml.Node, a *Await, groups []string) error {
		a.Client, a.Since = groups[1], groups[2]
		return p.readFor(n, a, groups[0])
	},
	text: afterText, at: afterAt,
}

// afterLeaseEvent is a time after the end of a client's lease.
var afterLeaseEvent = event{
	what: "after", form: pattern(`^(\S+) after lease of (\S+) over$`),
	read: func(p *parser, n *yaml.Node, a *Await, groups []string) error {
		a.Client, a.Since = groups[1], leaseOver
		return p.readFor(n, a, groups[0])
	},
	text: afterText, at: afterAt,
}

// beforeLeaseEvent is a time before the end of a client's lease.
var beforeLeaseEvent = event{
	what: "after", form: pattern(`^(\S+) before lease of (\S+) over$`), example: "200ms before lease of A over",
	read: func(p *parser, n *yaml.Node, a *Await, groups []string) error {
		a.Client, a.Since = groups[1], leaseOver
		err := p.readFor(n, a, groups[0])
		a.For = -a.For
		return err
	},
	text: afterText, at: afterAt,
}

// leaseOver is since when an await for a time from a lease's end counts.
const leaseOver = "lease over"

func afterText(a *Await) string {
	if a.For < 0 {
		return fmt.Sprintf("%v before the end of %s's lease", -a.For, a.Client)
	}
	return fmt.Sprintf("%v after %s %s", a.For, a.Client, a.Since)
}

func afterAt(r *Runner, a *Await) (int64, error) {
	c := r.clients[a.Client]
	from := map[string]int64{"asked": c.asked, "granted": c.granted, leaseOver: c.until}[a.Since]
	if from == 0 {
		return 0, nil
	}
	return from + int64(a.For), nil
}

// quietEvent is a time in which no client says anything.
var quietEvent = event{
	what: "quiet", form: pattern(`^quiet (\S+)$`), example: "quiet 200ms",
	read: func(p *parser, n *yaml.Node, a *Await, groups []string) error { return p.readFor(n, a, groups[0]) },
	text: func(a *Await) string { return fmt.Sprintf("%v of quiet", a.For) },
	at:   func(r *Runner, a *Await) (int64, error) { return r.latest + int64(a.For), nil },
}
