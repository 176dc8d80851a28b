package scenarios

import (
	"go.yaml.in/yaml/v3"
)

// order checks that each step of a script is possible after those before it.
type order struct {
	p        *parser
	clients  map[string]*clientOrder
	broken   map[string]int // "pause A" -> line
	links    map[string]int // by word and link: "cut A to redis" -> line
	holds    map[string]int // by text
	counting map[string]int
}

type clientOrder struct {
	busy    int    // line of an act that may still be under way
	last    string // its last act
	asked   int    // line of the acquire that its other acts belong to
	release int    // line
	dead    bool
}

func newOrder(p *parser) *order {
	o := &order{p: p, clients: map[string]*clientOrder{}, broken: map[string]int{}, links: map[string]int{}, holds: map[string]int{}, counting: map[string]int{}}
	for _, c := range p.s.Clients {
		o.clients[c] = &clientOrder{}
	}
	return o
}

// next checks the step, and takes note of it for those after it.
func (o *order) next(n *yaml.Node, st *Step) error {
	if w, ok := st.word(); ok && w.after != nil {
		return w.after(o, n, st)
	}
	return nil
}

// isUp says that a node is neither killed nor without power.
func (o *order) isUp(n *yaml.Node, st *Step, node string) error {
	if line := max(o.broken[killed+node], o.broken["powerloss "+node]); line != 0 {
		return o.p.errorf(n, "%s: %s is down since line %d", st.Word, node, line)
	}
	return nil
}

// undo takes back what a kind of fault did to the step's nodes.
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
