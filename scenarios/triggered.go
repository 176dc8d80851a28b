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
	Fault Step // one of strikeWords
	Until Until
}

// Until is what ends a fault: an event that comes after it took effect, a time, or
// whichever is first.
type Until struct {
	Await *Await  // nil: none
	Move  Trigger // a move that a client has ended; none where it has no client
	Or    Span
}

// unlessSaid is how long a fault lasts where nothing is said.
var unlessSaid = Span{Leases: 2}

func (u Until) String() string {
	switch {
	case u.Move.Client != "":
		return u.Move.String() + " or " + u.Or.String()
	case u.Await == nil:
		return u.Or.String()
	}
	return u.Await.written() + " or " + u.Or.String()
}

func (s TriggeredFault) String() string {
	return s.Fault.Text + " when " + s.When.String() + " until " + s.Until.String()
}

// faultWords are the steps that a triggered fault can be: those that inject a fault. What undoes
// it is no word here: that is the fault's until.
func faultWords() []string {
	var out []string
	for _, w := range stepWords {
		if w.fault != "" {
			out = append(out, w.name)
		}
	}
	return out
}

func (p *parser) triggered(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return p.errorf(n, "faults: want a list")
	}
	if p.s.Programs == nil {
		return p.errorf(n, "faults: they go with clients that carry out programs: give clients as a mapping, as A: acquire, read, write, release")
	}
	for _, item := range n.Content {
		s, err := p.triggeredFault(item)
		if err != nil {
			return err
		}
		p.s.TriggeredFaults = append(p.s.TriggeredFaults, *s)
	}
	return nil
}

func (p *parser) triggeredFault(n *yaml.Node) (*TriggeredFault, error) {
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
		case !slices.Contains(faultWords(), key.Value):
			words := slices.Concat(faultWords(), []string{"when", "until"})
			err = p.errorf(key, "unknown fault %q%s (have %s)", key.Value, suggest.Word(key.Value, words), strings.Join(faultWords(), ", "))
		case s.Fault.Word != "":
			err = p.errorf(key, "%s beside %s: give each fault an entry of its own", key.Value, s.Fault.Word)
		default:
			var st *Step
			if st, err = p.step(&yaml.Node{Kind: yaml.MappingNode, Line: key.Line, Content: []*yaml.Node{key, value}}); err == nil {
				s.Fault = *st
			}
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case s.Fault.Word == "":
		return nil, p.errorf(n, "this entry has no fault (have %s)", strings.Join(faultWords(), ", "))
	case !have:
		return nil, p.errorf(n, "%s: it does not say when, as when: before A's write", s.Fault.Text)
	case s.Fault.undoes():
		return nil, p.errorf(n, "%s: what ends a fault is its until", s.Fault.Text)
	case ended && s.Fault.momentary():
		return nil, p.errorf(n, "%s: it is over as soon as it was done: leave out until", s.Fault.Text)
	}
	return s, nil
}

// undoes says that the step sets right what another broke.
func (st *Step) undoes() bool {
	return st.Word == clockWord.name && st.rightClock() || st.Word == diskWord.name && st.Disk == "" || st.Word == deliverWord.name && st.N == 0
}

// momentary says that nothing of the step is undone later.
func (st *Step) momentary() bool {
	return st.Word == failoverWord.name || st.Word == deliverWord.name || st.Word == resetWord.name && st.Manner == ""
}

// until reads what ends a fault: "B granted or 2 leases", "after B's write", "1.5 leases".
func (p *parser) until(n *yaml.Node) (u Until, err error) {
	text, err := p.text(n)
	if err != nil {
		return u, err
	}
	if u.Or, err = parseSpan(text); err == nil {
		return u, nil
	}
	u.Or = unlessSaid
	if event, limit, ok := strings.Cut(text, " or "); ok {
		if u.Or, err = parseSpan(limit); err != nil {
			return u, p.errorf(n, "until: %v", err)
		}
		text = event
	}
	if strings.Contains(text, "'s ") {
		move := *n
		move.Value = strings.TrimSpace(text)
		if u.Move, err = p.trigger(&move); err == nil && u.Move.At != After {
			err = p.errorf(n, "until: %q: a fault can end after a move, as after B's write", text)
		}
		return u, err
	}
	if u.Await, err = p.event(n, strings.TrimSpace(text)); err != nil {
		return u, err
	}
	if u.Await.event().at == nil {
		return u, p.errorf(n, "until: %q: want what a client tells, as B granted or lease of A over, or a time", text)
	}
	return u, nil
}

// NewTriggeredFault makes a triggered fault of a step, "pause: A". It does not know which
// clients there are: what it makes is checked when it is written and parsed.
func NewTriggeredFault(fault string, when Trigger, until Until) (TriggeredFault, error) {
	word, rest, _ := strings.Cut(fault, ": ")
	w, ok := lookup(word)
	if !ok || w.fault == "" {
		return TriggeredFault{}, suggest.Unknown("fault", word, faultWords())
	}
	p := &parser{file: "a fault", s: &Scenario{}}
	for _, name := range strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == ',' }) {
		if clientForm().MatchString(name) {
			p.s.Clients = append(p.s.Clients, name)
		}
	}
	st := Step{Word: word, Text: fault}
	if err := w.read(p, &yaml.Node{}, &st, rest); err != nil {
		return TriggeredFault{}, err
	}
	return TriggeredFault{When: when, Fault: st, Until: until}, nil
}

// AwaitClient is what can be awaited of a client, by its word: granted, waiting, lost.
func AwaitClient(client, what string) *Await { return &Await{Client: client, What: what} }
