package scenarios

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// moveEvent is that a client has come to a point of its program and left it, once all faults that
// begin or end there have taken effect or are over: "before A's 2nd write", "A's write" when it has
// begun, "after A's write" when it has ended. A move that the client passes over never comes.
var moveEvent = event{
	what: "move", form: pattern(`^(?:(before|after) )?([A-Z][A-Z0-9]*)'s (?:(\d+)(?:st|nd|rd|th) )?([a-z]+)$`), example: "after A's write",
	read: func(p *parser, n *yaml.Node, a *Await, groups []string) error {
		a.Client = groups[1]
		a.Move = Trigger{At: During, Client: groups[1], Do: groups[3], Nth: 1}
		if groups[0] != "" {
			a.Move.At = Where(groups[0])
		}
		if groups[2] != "" {
			var err error
			if a.Move.Nth, err = strconv.Atoi(groups[2]); err != nil || a.Move.Nth < 1 {
				return p.errorf(n, "await: count the moves of %s from 1", a.Client)
			}
		}
		p.check(func() error { return p.reached(n, a.Move) })
		return nil
	},
	text: func(a *Await) string { return a.Move.move() }, ofActs: true,
	at: func(r *Runner, a *Await) (int64, error) {
		switch r.points[a.Move] {
		case left:
			return 1, nil
		case passedOver:
			return 0, r.neverCame(a.Move)
		}
		return 0, nil
	},
}

// neverCame says that a client has passed a point over, and what it was refused before that. r.mu is held.
func (r *Runner) neverCame(at Trigger) error {
	why := fmt.Sprintf("%s did not come: %s passed over its %s", at.move(), at.Client, at.Do)
	if said := r.refusal[at]; said != "" {
		why += ", after a request that ended with " + said
	}
	return &neverError{why}
}

// point is what is known of one point of a client's program.
type point int

const (
	reached    point = iota + 1 // the client stands there
	left                        // and has gone on
	passedOver                  // it never came there, and will not
)
