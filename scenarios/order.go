package scenarios

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// order checks that each step of a script is possible after those before it.
type order struct {
	p       *parser
	clients map[string]*clientOrder
	broken  map[string]int // "pause A" -> line
	cuts    map[string]int // by text
	counted map[string]int
	marked  map[string]bool
}

type clientOrder struct {
	busy    int    // line of an act that may still be under way
	last    string // its last act
	asked   int    // line of the acquire that its other acts belong to
	release int    // line
	dead    bool
}

func newOrder(p *parser) *order {
	o := &order{p: p, clients: map[string]*clientOrder{}, broken: map[string]int{}, cuts: map[string]int{}, counted: map[string]int{}, marked: map[string]bool{}}
	for _, c := range p.s.Clients {
		o.clients[c] = &clientOrder{}
	}
	return o
}

func (o *order) next(n *yaml.Node, st *Step) error {
	switch st.Word {
	case "act":
		return o.act(n, st)
	case "await", "only if":
		return o.await(n, st)
	case "pause", "kill", "powerloss":
		for _, node := range st.Nodes {
			if line := o.down(node); line != 0 {
				return o.p.errorf(n, "%s: %s is down since line %d", st.Word, node, line)
			}
			if line := o.broken["pause "+node]; line != 0 && st.Word == "pause" {
				return o.p.errorf(n, "pause: %s is paused since line %d: resume it first", node, line)
			}
			o.broken[st.Word+" "+node] = st.Line
			if st.Word == "powerloss" && !o.marked[node] {
				return o.p.errorf(n, "powerloss: nothing says since when %s has not synced: mark: %s first", node, node)
			}
			if c := o.clients[node]; c != nil && st.Word == "kill" {
				*c = clientOrder{dead: true}
			}
		}
	case "resume":
		return o.undo(n, st, "pause")
	case "start":
		if len(st.Nodes) == 1 && o.broken["powerloss "+st.Nodes[0]] != 0 {
			delete(o.broken, "powerloss "+st.Nodes[0])
			return nil
		}
		if err := o.undo(n, st, "kill"); err != nil {
			return err
		}
		for _, node := range st.Nodes {
			if c := o.clients[node]; c != nil {
				c.dead = false
			}
		}
	case "clock":
		if st.By != 0 {
			o.broken["clock "+st.Nodes[0]] = st.Line
			return nil
		}
		return o.undo(n, st, "clock")
	case "cut":
		o.cuts[strings.TrimPrefix(st.Text, "cut: ")] = st.Line
	case "heal":
		what := strings.TrimPrefix(st.Text, "heal: ")
		switch {
		case len(st.Nodes) == 0 && len(o.cuts) == 0:
			return o.p.errorf(n, "heal: nothing is cut")
		case len(st.Nodes) == 0:
			clear(o.cuts)
		case o.cuts[what] == 0:
			return o.p.errorf(n, "heal: no cut reads %q: repeat the words of the cut, or heal all", what)
		default:
			delete(o.cuts, what)
		}
	case "mark":
		o.marked[st.Nodes[0]] = true
	case "count":
		o.counted[st.Count] = st.Line
	case "counted":
		if o.counted[st.Count] == 0 {
			return o.p.errorf(n, "counted: nothing counts %s: count: %s first", st.Count, st.Count)
		}
	}
	return nil
}

func (o *order) down(node string) int {
	return max(o.broken["kill "+node], o.broken["powerloss "+node])
}

func (o *order) undo(n *yaml.Node, st *Step, kind string) error {
	for _, node := range st.Nodes {
		if o.broken[kind+" "+node] == 0 {
			return o.p.errorf(n, "%s: no %s of %s is on", st.Word, kind, node)
		}
		delete(o.broken, kind+" "+node)
	}
	return nil
}

// end checks that the script came to a result.
func (o *order) end(n *yaml.Node) error {
	for _, c := range o.clients {
		if c.asked != 0 {
			return nil
		}
	}
	return o.p.errorf(n, "steps: nobody asks for the lock")
}
