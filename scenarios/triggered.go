package scenarios

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/internal/suggest"
)

// TriggeredFault is one fault of a schedule: its trigger, what it is, and what ends
// it.
type TriggeredFault struct {
	Line  int
	When  Trigger
	Fault Fault
	Until Until
}

// Until is what ends a fault: an event that comes after it took effect, a time, or
// whichever is first.
type Until struct {
	Await *Await  // nil: none
	Move  Trigger // a point of a client's program; none where it has no client
	// Or ends it whether the event has come or not; none: the event must come.
	Or Span
	// Within: the scenario is not for this lock if the event has not come by then, for which there
	// is a Reason; none: it is.
	Within Span
	Reason string
	AtOnce bool // it is undone as soon as it has taken effect
}

// event says what ends the fault besides a time; "" for nothing.
func (u Until) event() string {
	switch {
	case u.Move.Client != "":
		return u.Move.String()
	case u.Await != nil:
		return u.Await.written()
	}
	return ""
}

// unlessSaid is how long a fault lasts where nothing is said.
var unlessSaid = Span{Leases: 2}

func (u Until) String() string {
	event := u.event()
	switch {
	case u.AtOnce:
		return atOnce
	case event == "":
		return u.Or.String()
	case u.Within.some():
		return event + within(u.Within, u.Reason)
	case u.Or.some():
		return event + " or " + u.Or.String()
	}
	return event
}

// atOnce ends a fault as soon as it has taken effect.
const atOnce = "at once"

// within is how the limit of an event is written.
func within(limit Span, reason string) string {
	text := " within " + limit.String()
	if reason != "" {
		text += " as " + reason
	}
	return text
}

func (s TriggeredFault) String() string {
	return s.Fault.Text + " when " + s.When.String() + " until " + s.Until.String()
}

// track reads faults, or what is counted, each with its trigger and what ends it.
func (p *parser) track(n *yaml.Node, field string, words []string) (out []TriggeredFault, err error) {
	if n.Kind != yaml.SequenceNode {
		return nil, p.errorf(n, "%s: want a list", field)
	}
	if p.s.Programs == nil {
		return nil, p.errorf(n, "%s: they go with clients that carry out programs: give clients as a mapping, as A: acquire, read, write, release", field)
	}
	for _, item := range n.Content {
		s, err := p.triggeredFault(item, field, words)
		if err != nil {
			return nil, err
		}
		out = append(out, *s)
	}
	return out, nil
}

func (p *parser) triggeredFault(n *yaml.Node, field string, words []string) (*TriggeredFault, error) {
	if n.Kind != yaml.MappingNode {
		return nil, p.errorf(n, "a fault is a mapping: when, the fault, until")
	}
	s := &TriggeredFault{Line: n.Line, Until: Until{Or: unlessSaid}}
	have, ended := false, false
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		var err error
		switch {
		case key.Value == "when" && have, key.Value == "until" && ended:
			err = p.errorf(key, "%s again: a fault has one", key.Value)
		case key.Value == "when":
			have = true
			s.When, err = p.trigger(value)
		case key.Value == "until":
			ended = true
			s.Until, err = p.until(value)
		case !slices.Contains(words, key.Value):
			all := slices.Concat(words, []string{"when", "until"})
			err = p.errorf(key, "unknown %s %q%s (have %s)", strings.TrimSuffix(field, "s"), key.Value, suggest.Word(key.Value, all), strings.Join(words, ", "))
		case s.Fault.Word != "":
			err = p.errorf(key, "%s beside %s: give each fault an entry of its own", key.Value, s.Fault.Word)
		case field == "count":
			s.Fault, err = p.counted(value)
		default:
			s.Fault, err = p.fault(key.Value, value)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case s.Fault.Word == "":
		return nil, p.errorf(n, "this entry has no %s (have %s)", strings.TrimSuffix(field, "s"), strings.Join(words, ", "))
	case !have:
		return nil, p.errorf(n, "%s: it does not say when, as when: before A's write", s.Fault.Text)
	case ended && s.Fault.momentary():
		return nil, p.errorf(n, "%s: it is over as soon as it was done: leave out until", s.Fault.Text)
	}
	return s, nil
}

// fault reads what stands behind a fault's word.
func (p *parser) fault(word string, n *yaml.Node) (Fault, error) {
	text, err := p.text(n)
	if err != nil {
		return Fault{}, err
	}
	text = strings.TrimSpace(text)
	f := Fault{Word: word, Text: word + ": " + text}
	w, _ := lookup(word)
	return f, w.read(p, n, &f, text)
}

// until reads what ends a fault: "B granted or 2 leases", "after B's write", "before B's acquire",
// "pause of B on within 10s as ...", "1.5 leases", "at once".
func (p *parser) until(n *yaml.Node) (u Until, err error) {
	text, err := p.text(n)
	if err != nil {
		return u, err
	}
	if text == atOnce {
		return Until{AtOnce: true}, nil
	}
	if u.Or, err = parseSpan(text); err == nil {
		return u, nil
	}
	if strings.Contains(text, "'s ") && triggerForm().MatchString(text) && !moveEvent.form().MatchString(text) {
		return u, p.errorf(n, "until: %q: a fault can end at a point of a program, as before B's write or after B's write", text)
	}
	a, err := p.event(n, text)
	if err != nil {
		return u, err
	}
	u.Or, u.Within, u.Reason = a.Or, a.Within, a.Reason
	a.Or, a.Within, a.Reason = Span{}, Span{}, ""
	if a.What == moveEvent.what {
		u.Move = a.Move
	} else {
		u.Await = a
	}
	return u, nil
}

// NewTriggeredFault makes a triggered fault of its text, "pause: A". It does not know which
// clients there are: what it makes is checked when it is written and parsed.
func NewTriggeredFault(fault string, when Trigger, until Until) (TriggeredFault, error) {
	word, rest, _ := strings.Cut(fault, ": ")
	w, ok := lookup(word)
	if !ok {
		return TriggeredFault{}, suggest.Unknown("fault", word, faultWords())
	}
	p := &parser{file: "a fault", s: &Scenario{}}
	for _, name := range strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == ',' }) {
		if clientForm().MatchString(name) {
			p.s.Clients = append(p.s.Clients, name)
		}
	}
	f := Fault{Word: word, Text: fault}
	if err := w.read(p, &yaml.Node{}, &f, rest); err != nil {
		return TriggeredFault{}, err
	}
	return TriggeredFault{When: when, Fault: f, Until: until}, nil
}

// AwaitClient is what can be awaited of a client, by its word: granted, waiting, lost.
func AwaitClient(client, what string) *Await { return &Await{Client: client, What: what} }
