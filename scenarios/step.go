package scenarios

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/internal/link"
	"github.com/picklock/picklock/internal/suggest"
)

// Step is one line of a script.
type Step struct {
	Line int
	Text string // as written: "A: acquire &"
	Word string // "act", or one of the table

	Client     string // of an act
	Acts       []string
	Background bool      // started, not waited for
	Gates      []ActGate // on their messages

	Nodes, Peers []string // whom a fault hits; of a cut, the two sides
	Both         bool     // a cut both ways
	By           time.Duration
	Rate         float64       // of a clock
	Strobe       time.Duration // of a clock
	Wipe         bool
	N            int           // of a deliver: how many messages; 0: all
	Manner       string        // of a reset
	Disk         string        // what is wrong with it, "" for nothing
	Stall        time.Duration // of a disk that stalls
	Torn         bool
	Slow         link.Slow
	Loss         float64       // of a link: the part of the packets that is lost
	Flap         time.Duration // of a link: so long it is down, and so long up
	Await        *Await
	Count        string
}

// steps reads the script and checks that its order is possible.
func (p *parser) steps(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return p.errorf(n, "steps: want a list")
	}
	order := newOrder(p)
	for _, item := range n.Content {
		st, err := p.step(item)
		if err != nil {
			return err
		}
		if err := order.next(item, st); err != nil {
			return err
		}
		p.s.Steps = append(p.s.Steps, *st)
	}
	return order.end(n)
}

func (p *parser) step(n *yaml.Node) (*Step, error) {
	name, rest := n.Value, ""
	switch {
	case n.Kind == yaml.ScalarNode && n.Value != "":
	case n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[1].Kind == yaml.ScalarNode:
		name, rest = n.Content[0].Value, strings.TrimSpace(n.Content[1].Value)
	default:
		return nil, p.errorf(n, `a step is one line, as "A: acquire" or "pause: A"`)
	}
	st := &Step{Line: n.Line, Word: name, Text: strings.TrimSuffix(name+": "+rest, ": ")}
	if slices.Contains(p.s.Clients, name) {
		st.Word, st.Client = actWord.name, name
		return st, actWord.read(p, n, st, rest)
	}
	if w, ok := lookup(name); ok {
		return st, w.read(p, n, st, rest)
	}
	if clientForm().MatchString(name) {
		return nil, p.noClient(n, name)
	}
	return nil, p.errorf(n, "unknown step %q%s (have %s, or a client's name)", name, suggest.Word(name, wordNames()), strings.Join(wordNames(), ", "))
}

// noClient is the mistake of naming a client that is none.
func (p *parser) noClient(n *yaml.Node, name string) error {
	return p.errorf(n, "client %s is not among the scenario's clients%s (%s)", name, suggest.Word(name, p.s.Clients), listed(p.s.Clients))
}

// Servers stands for all servers where nodes are named.
const Servers = "servers"

var nodeForm = pattern(`^[a-zA-Z][a-zA-Z0-9_-]*$`)

// nodes reads what is hit where a step names nothing else.
func (p *parser) nodes(n *yaml.Node, st *Step, rest string) (err error) {
	st.Nodes, err = p.targets(n, st.Word, rest)
	return err
}

// server reads the one server that is hit.
func (p *parser) server(n *yaml.Node, st *Step, rest string) error {
	if err := p.nodes(n, st, rest); err != nil {
		return err
	}
	if len(st.Nodes) != 1 {
		return p.errorf(n, "%s: want one server", st.Word)
	}
	return nil
}

func (p *parser) targets(n *yaml.Node, word, text string) ([]string, error) {
	var out []string
	for _, t := range strings.Split(text, ",") {
		t = strings.TrimSpace(t)
		switch {
		case !nodeForm().MatchString(t):
			return nil, p.errorf(n, "%s: want the names of nodes, not %q", word, t)
		case clientForm().MatchString(t) && !slices.Contains(p.s.Clients, t):
			return nil, p.noClient(n, t)
		}
		out = append(out, t)
	}
	return out, nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "there are none: give clients: [A, B]"
	}
	return strings.Join(names, ", ")
}
