package scenarios

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/internal/link"
	"github.com/picklock/picklock/internal/suggest"
)

// Fault is what a fault of the track does, without its trigger and its end.
type Fault struct {
	Text string // as written: "pause: A"
	Word string // one of the table

	Nodes, Peers []string // whom it hits; of a cut, the two sides
	Both         bool     // both ways
	By           time.Duration
	Rate         float64       // of a clock
	Strobe       time.Duration // of a clock
	Wipe         bool
	N            int           // of a deliver: how many messages
	Manner       string        // of a reset
	Disk         string        // what is wrong with it
	Stall        time.Duration // of a disk that stalls
	Torn         bool
	Slow         link.Slow
	Loss         float64       // of a link: the part of the packets that is lost
	Flap         time.Duration // of a link: so long it is down, and so long up
}

// faultWord is what the language knows of one word of a fault.
type faultWord struct {
	name string
	kind string // of the fault behind it, as the nemesis names it

	// read reads what follows the word into the fault.
	read func(p *parser, n *yaml.Node, f *Fault, rest string) error
	// requests are what the stage is asked for, one after the other; resolve writes "servers" out.
	requests func(f *Fault, resolve func([]string) []string) []FaultRequest
	// do does what is no such request; nil: the requests are all.
	do func(ctx context.Context, s Stage, f *Fault, resolve func([]string) []string) error
	// momentary says that nothing of the fault is left to be undone; nil: something is.
	momentary func(f *Fault) bool
}

// faultWordTable is the one table of the words, in the order in which errors list them: who adds a
// fault writes its file and its line here.
var faultWordTable = []faultWord{
	pauseWord,
	killWord,
	cutWord,
	holdWord,
	deliverWord,
	withholdWord,
	resetWord,
	slowWord,
	lossWord,
	flapWord,
	clockWord,
	failoverWord,
	powerLossWord,
	diskWord,
	refuseWord,
}

// lookup finds a word of the table.
func lookup(name string) (faultWord, bool) {
	i := slices.IndexFunc(faultWordTable, func(w faultWord) bool { return w.name == name })
	if i < 0 {
		return faultWord{}, false
	}
	return faultWordTable[i], true
}

// faultWords lists the words in the table's order.
func faultWords() []string {
	var names []string
	for _, w := range faultWordTable {
		names = append(names, w.name)
	}
	return names
}

// momentary says that nothing of the fault is undone later.
func (f *Fault) momentary() bool {
	w, _ := lookup(f.Word)
	return w.momentary != nil && w.momentary(f)
}

// touches says that a fault may delay what a client does or asks: it hits the client, its link, or a server.
func (f *Fault) touches(client string, clients []string) bool {
	if slices.Contains(f.Nodes, client) || slices.Contains(f.Peers, client) {
		return true
	}
	if len(f.Peers) > 0 { // the links between two sides
		other := func(name string) bool { return name != client && slices.Contains(clients, name) }
		return !slices.ContainsFunc(f.Nodes, other) && !slices.ContainsFunc(f.Peers, other)
	}
	return !slices.ContainsFunc(f.Nodes, func(name string) bool { return slices.Contains(clients, name) })
}

func always(*Fault) bool { return true }

// noClient is the mistake of naming a client that is none.
func (p *parser) noClient(n *yaml.Node, name string) error {
	return p.errorf(n, "client %s is not among the scenario's clients%s (%s)", name, suggest.Word(name, p.s.Clients), strings.Join(p.s.Clients, ", "))
}

// Servers stands for all servers where nodes are named.
const Servers = "servers"

var nodeForm = pattern(`^[a-zA-Z][a-zA-Z0-9_-]*$`)

// nodes reads what is hit where a fault names nothing else.
func (p *parser) nodes(n *yaml.Node, f *Fault, rest string) (err error) {
	f.Nodes, err = p.targets(n, f.Word, rest, ",")
	return err
}

// targets reads the names of nodes.
func (p *parser) targets(n *yaml.Node, word, text, between string) ([]string, error) {
	var out []string
	for _, t := range strings.Split(text, between) {
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

// sides reads the two sides of a link; want says what else would be an error.
func (p *parser) sides(n *yaml.Node, f *Fault, rest, want string) (err error) {
	left, right, ok := strings.Cut(rest, " from ")
	f.Both = ok
	if !ok {
		if left, right, ok = strings.Cut(rest, " to "); !ok {
			return p.errorf(n, "%s: %s", f.Word, want)
		}
	}
	if f.Nodes, err = p.targets(n, f.Word, left, ","); err != nil {
		return err
	}
	f.Peers, err = p.targets(n, f.Word, right, ",")
	return err
}

// oneClient says that a fault hits a client, and which.
func (p *parser) oneClient(f *Fault) (string, bool) {
	i := slices.IndexFunc(f.Nodes, func(n string) bool { return slices.Contains(p.s.Clients, n) })
	if i < 0 {
		return "", false
	}
	return f.Nodes[i], true
}

// each asks for a fault at each of its nodes.
func each(request FaultRequest) func(*Fault, func([]string) []string) []FaultRequest {
	return func(f *Fault, resolve func([]string) []string) (out []FaultRequest) {
		for _, node := range resolve(f.Nodes) {
			r := request
			r.Nodes, r.By, r.Rate, r.Strobe, r.Wipe, r.Disk, r.Stall = []string{node}, f.By, f.Rate, f.Strobe, f.Wipe, f.Disk, f.Stall
			out = append(out, r)
		}
		return out
	}
}

// between asks for a fault between its two sides.
func between(kind string) func(*Fault, func([]string) []string) []FaultRequest {
	return func(f *Fault, resolve func([]string) []string) []FaultRequest {
		return []FaultRequest{{Kind: kind, Nodes: resolve(f.Nodes), Peers: resolve(f.Peers), Both: f.Both, Manner: f.Manner, Slow: f.Slow, Loss: f.Loss, Flap: f.Flap}}
	}
}
