package scenarios

import (
	"context"
	"strings"

	"go.yaml.in/yaml/v3"
)

// killWord ends processes at once: "kill: A", "kill: redis1 without data".
var killWord = stepWord{name: "kill", fault: "kill", read: (*parser).kill, after: (*order).kill, take: (*Runner).kill}

// startWord starts what was killed, or has lost its power, again: "start: A".
var startWord = stepWord{name: "start", read: (*parser).nodes, after: (*order).start, take: (*Runner).start}

func (p *parser) kill(n *yaml.Node, st *Step, rest string) error {
	if before, ok := strings.CutSuffix(rest, "without data"); ok {
		rest, st.Wipe = strings.TrimRight(before, " ,"), true
	}
	return p.nodes(n, st, rest)
}

func (o *order) kill(n *yaml.Node, st *Step) error {
	for _, node := range st.Nodes {
		if err := o.isUp(n, st, node); err != nil {
			return err
		}
		o.broken[killed+node] = st.Line
		if c := o.clients[node]; c != nil {
			*c = clientOrder{dead: true}
		}
	}
	return nil
}

func (o *order) start(n *yaml.Node, st *Step) error {
	if len(st.Nodes) > 0 && o.broken["powerloss "+st.Nodes[0]] != 0 {
		return o.undo(n, st, "powerloss")
	}
	if err := o.undo(n, st, "kill"); err != nil {
		return err
	}
	for _, node := range st.Nodes {
		if c := o.clients[node]; c != nil {
			c.dead = false
		}
	}
	return nil
}

// killed begins the name of a kill that was not undone.
const killed = "kill "

func (r *Runner) kill(ctx context.Context, st Step) (string, error) {
	return "", r.each(st.Nodes, func(node string) error {
		err := r.inject(ctx, FaultRequest{Kind: "kill", Nodes: []string{node}, Wipe: st.Wipe}, killed+node)
		if err == nil {
			r.killed(node)
		}
		return err
	})
}

func (r *Runner) start(ctx context.Context, st Step) (string, error) {
	var names []string
	for _, node := range r.resolve(st.Nodes) {
		if r.heals["powerloss "+node] != nil {
			names = append(names, "powerloss "+node)
		} else {
			names = append(names, killed+node)
		}
	}
	return "", r.undo(ctx, names...)
}

// forget drops what a killed client was doing.
func (r *Runner) forget(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.clients[client]; c != nil {
		if c.busy != nil {
			close(c.busy.killed)
		}
		*c = clientState{grants: c.grants, kills: c.kills + 1}
		r.change()
	}
}
