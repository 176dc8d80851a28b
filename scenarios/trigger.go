package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/internal/suggest"
)

// Trigger is the event at which a fault is injected. It is tied to what clients do and never to
// a time, so that the fault is injected at the same point of every run.
type Trigger struct {
	At     Where
	Client string
	Do     string // the client's move, by its word
	Nth    int    // which of the client's moves of that word, from 1
	N      int    // of Sent and Answered: which message, from 1
	Other  string // of Sent and Answered: to whom or from whom, as written; "": the servers
	Await  *Await // of Event
}

// Where a trigger lies.
type Where string

const (
	Start    Where = "start"    // before any client does anything
	Before   Where = "before"   // the client has not begun the move
	During   Where = "during"   // it has got the command to begin it
	After    Where = "after"    // it has ended it, and not begun the next
	Sent     Where = "sent"     // the n-th message of the move has left it
	Answered Where = "answered" // the n-th message to the client since the move began has reached it
	Event    Where = "event"    // whatever can be awaited
)

func (a Trigger) String() string {
	switch a.At {
	case Start:
		return string(Start)
	case Event:
		return a.Await.written()
	}
	return a.move()
}

// move is a trigger at a client's move.
func (a Trigger) move() string {
	move := fmt.Sprintf("%s's %s", a.Client, a.Do)
	if a.Nth > 1 {
		move = fmt.Sprintf("%s's %s %s", a.Client, ordinal(a.Nth), a.Do)
	}
	switch a.At {
	case Before, After:
		return string(a.At) + " " + move
	case Sent:
		return fmt.Sprintf("%s has sent message %d", move, a.N) + a.other(" to ")
	case Answered:
		return fmt.Sprintf("%s has got answer %d", move, a.N) + a.other(" from ")
	}
	return move
}

func (a Trigger) other(before string) string {
	if a.Other == "" {
		return ""
	}
	return before + a.Other
}

func ordinal(n int) string {
	switch {
	case n%10 == 1 && n%100 != 11:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2 && n%100 != 12:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3 && n%100 != 13:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

var triggerForm = pattern(`^(?:(before|after) )?([A-Z][A-Z0-9]*)'s (?:(\d+)(?:st|nd|rd|th) )?([a-z]+\??)(?: has (sent message|got answer) (\d+)(?: (?:to|from) ([^\s,]+(?: and [^\s,]+)*))?)?$`)

// trigger reads what stands behind when.
func (p *parser) trigger(n *yaml.Node) (a Trigger, err error) {
	text, err := p.text(n)
	if err != nil {
		return a, err
	}
	if text == string(Start) {
		return Trigger{At: Start}, nil
	}
	m := triggerForm().FindStringSubmatch(text)
	if m == nil {
		if strings.Contains(text, "'s ") {
			return a, p.errorf(n, "when: %q: want a move of a client, as A's 2nd write, before A's write, after A's acquire, A's acquire has sent message 1, A's acquire has got answer 1", text)
		}
		a.At = Event
		if a.Await, err = p.event(n, text); err == nil && (a.Await.Or.some() || a.Await.Within.some()) {
			err = p.errorf(n, "when: %q: a fault begins at an event, not after a time", text)
		}
		return a, err
	}
	a = Trigger{At: During, Client: m[2], Do: m[4], Nth: 1}
	if m[1] != "" {
		a.At = Where(m[1])
	}
	if m[3] != "" {
		a.Nth, err = strconv.Atoi(m[3])
	}
	if err == nil && m[6] != "" {
		a.N, err = strconv.Atoi(m[6])
		a.At = map[string]Where{"sent message": Sent, "got answer": Answered}[m[5]]
		a.Other = m[7]
	}
	switch {
	case err != nil || a.Nth < 1 || m[6] != "" && a.N < 1:
		return a, p.errorf(n, "%q: count from 1", text)
	case m[1] != "" && m[6] != "":
		return a, p.errorf(n, "%q: either %s the move or a message of it", text, m[1])
	case !slices.Contains(p.s.Clients, a.Client):
		return a, p.noClient(n, a.Client)
	}
	if a.Other != "" {
		if _, err := p.targets(n, "when", a.Other, " and "); err != nil {
			return a, err
		}
	}
	p.check(func() error { return p.reached(n, a) })
	return a, nil
}

// reached checks that the client's program has the move.
func (p *parser) reached(n *yaml.Node, a Trigger) error {
	count := 0
	var words []string
	for _, m := range p.s.Programs[a.Client] {
		words = append(words, m.Do)
		if m.Do == a.Do {
			count++
		}
	}
	switch {
	case count == 0:
		return p.errorf(n, "%s's program has no %s%s", a.Client, a.Do, suggest.Word(a.Do, words))
	case a.Nth > count:
		return p.errorf(n, "%s's program has %d %s, not %d", a.Client, count, a.Do, a.Nth)
	}
	return nil
}
