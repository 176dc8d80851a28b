package scenarios

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/internal/suggest"
)

// Await is an event that is waited for. Every wait is for an event; a time is only ever
// given from an event on, or as the limit of a wait for what may not come.
type Await struct {
	What string // the name of one of the events

	Client  string
	From    []string      // of message: who sends
	Servers []string      // of message: to whom; of the servers' events: which
	N       int           // of queued, fewer, request and messages
	For     time.Duration // of after and quiet
	Since   string        // of after: granted, asked or lease over
	Move    Trigger       // of move: the point of a program that its client reaches
	Fault   faultRef      // of fault: which, and whether it is on or over

	Or     Span   // go on after this time if it has not come; none: it must come
	Within Span   // the scenario is not for this lock if it has not come by then; none: it is
	Reason string // of Within: why it should come
}

// event is what the language knows of one thing that can be awaited. Either clients
// tell of it (at), or servers are asked (seen), or who holds messages tells (wait).
type event struct {
	what string
	text func(a *Await) string // what the awaited is called where it did not come

	// form is how it is written, and read what the form's groups mean. An event without
	// a form is written after a client's name.
	form    func() *regexp.Regexp
	read    func(p *parser, n *yaml.Node, a *Await, groups []string) error
	example string // how errors show it

	// ofActs: it comes of what its client does, and not while that waits for its turn.
	ofActs bool
	// at is the time in ns since the run's start at which it comes or came: 0 if nothing
	// says yet, past if it is there. r.mu is held.
	at func(r *Runner, a *Await) (int64, error)

	// seen asks a server whether it is there; looks if for what it has for the lock.
	seen  func(ctx context.Context, r *Runner, a *Await, server string) (bool, error)
	looks bool

	// wait, if it is set, returns when the event is there: its source tells of it by itself, or at alone does not show it.
	wait func(ctx context.Context, r *Runner, a *Await) error
}

// events is the one table of what can be awaited, in the order in which errors list it:
// who adds an event writes it in its file and in its line here. One that is written in
// several ways has a line for each.
var events = []event{
	grantedEvent, waitingEvent, doneEvent, lostEvent, failedEvent, refusedEvent,
	leaseEvent, afterEvent, afterLeaseEvent, beforeLeaseEvent,
	moveEvent, faultEvent,
	keyEvent, goneEvent, requestEvent, syncedEvent, messageEvent, ofActEvent, queuedEvent, fewerEvent,
	quietEvent,
}

// event is what is awaited; one that no parser has read may await nothing known.
func (a *Await) event() event {
	i := slices.IndexFunc(events, func(e event) bool { return e.what == a.What })
	if i < 0 {
		return event{text: clientText, at: unknownEvent}
	}
	return events[i]
}

func (a *Await) String() string { return a.event().text(a) }

// asksServers says that no client can tell.
func (a *Await) asksServers() bool { return a.event().seen != nil }

var (
	orForm          = pattern(`^(.*\S) or (\S+(?: leases?)?)$`)
	withinForm      = pattern(`^(.*\S) within (\S+(?: leases?)?)(?: as (.+))?$`)
	clientEventForm = pattern(`^([A-Z]\S*) ([a-z]+)$`)
)

// event reads what is waited for.
func (p *parser) event(n *yaml.Node, text string) (_ *Await, err error) {
	a := &Await{}
	if text, err = a.limits(text); err != nil {
		return nil, p.errorf(n, "await: %v", err)
	}
	if _, err := time.ParseDuration(text); err == nil {
		return nil, p.errorf(n, "await: a time alone is no event: say from when on, as %s after A granted", text)
	}
	if err := p.eventForm(n, a, text); err != nil {
		return nil, err
	}
	if a.Client != "" && !slices.Contains(p.s.Clients, a.Client) {
		return nil, p.noClient(n, a.Client)
	}
	return a, nil
}

// limits reads how long an event may take to come, and returns what stands before that.
func (a *Await) limits(text string) (event string, err error) {
	if m := withinForm().FindStringSubmatch(text); m != nil {
		a.Reason = m[3]
		if text, a.Within, err = parseLimit(m[1], m[2]); err == nil && orForm().MatchString(text) {
			err = errors.New("what need not come decides nothing: leave the \"or\" away")
		}
		return text, err
	}
	if m := orForm().FindStringSubmatch(text); m != nil {
		text, a.Or, err = parseLimit(m[1], m[2])
	}
	return text, err
}

func parseLimit(event, limit string) (string, Span, error) {
	s, err := parseSpan(limit)
	return event, s, err
}

// eventForm reads an event by the first form that it has.
func (p *parser) eventForm(n *yaml.Node, a *Await, text string) error {
	var clientWords, examples []string
	for _, e := range events {
		if e.form == nil {
			clientWords = append(clientWords, e.what)
			continue
		}
		if m := e.form().FindStringSubmatch(text); m != nil {
			a.What = e.what
			return e.read(p, n, a, m[1:])
		}
		if e.example != "" {
			examples = append(examples, e.example)
		}
	}
	m := clientEventForm().FindStringSubmatch(text)
	if m == nil {
		return p.errorf(n, "await: %q is nothing that can be awaited: have A granted (or %s), %s", text, strings.Join(clientWords[1:], ", "), strings.Join(examples, ", "))
	}
	a.Client, a.What = m[1], m[2]
	if !slices.Contains(clientWords, a.What) {
		return p.errorf(n, "await: %q%s (of a client one can await %s)", a.What, suggest.Word(a.What, clientWords), strings.Join(clientWords, ", "))
	}
	return nil
}

// readFor reads how long before or after.
func (p *parser) readFor(n *yaml.Node, a *Await, text string) (err error) {
	if a.For, err = time.ParseDuration(text); err != nil || a.For <= 0 {
		return p.errorf(n, "await: %q is no length of time", text)
	}
	return nil
}
