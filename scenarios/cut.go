package scenarios

import (
	"context"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// cutWord cuts links: "cut: A from redis4, redis5" both ways, "cut: A to redis4" one way.
var cutWord = stepWord{name: "cut", fault: "partition", read: (*parser).cut, after: (*order).harmed, take: (*Runner).cut}

// healWord ends what was done to a link, a cut or whatever makes it slow, lossy or flapping: "heal: A to
// redis4"; or to all links, and what came of a reset of which not both ends were informed: "heal".
var healWord = stepWord{name: "heal", read: (*parser).heal, after: (*order).heal, take: (*Runner).heal}

// cut reads "A from redis4, redis5" (both ways) or "A to redis4" (one way).
func (p *parser) cut(n *yaml.Node, st *Step, rest string) error {
	return p.sides(n, st, rest, "want two sides, as A from redis4, redis5 (both ways) or A to redis4 (what A sends is lost)")
}

// sides reads the two sides of a link; want says what else would be an error.
func (p *parser) sides(n *yaml.Node, st *Step, rest, want string) (err error) {
	left, right, ok := strings.Cut(rest, " from ")
	st.Both = ok
	if !ok {
		if left, right, ok = strings.Cut(rest, " to "); !ok {
			return p.errorf(n, "%s: %s", st.Word, want)
		}
	}
	if st.Nodes, err = p.targets(n, st.Word, left); err != nil {
		return err
	}
	st.Peers, err = p.targets(n, st.Word, right)
	return err
}

func (p *parser) heal(n *yaml.Node, st *Step, rest string) error {
	if rest == "" {
		return nil
	}
	return p.cut(n, st, rest)
}

// link is what a step does harm to, without how much.
func (st *Step) link() string {
	between := " to "
	if st.Both {
		between = " from "
	}
	return strings.Join(st.Nodes, ", ") + between + strings.Join(st.Peers, ", ")
}

// harmed takes note of a harm to a link, which heal ends.
func (o *order) harmed(n *yaml.Node, st *Step) error {
	name := st.Word + " " + st.link()
	if line := o.links[name]; line != 0 {
		return o.p.errorf(n, "%s: it is done to %s since line %d: heal: %s first", st.Word, st.link(), line, st.link())
	}
	o.links[name] = st.Line
	return nil
}

func (o *order) heal(n *yaml.Node, st *Step) error {
	all := len(st.Nodes) == 0
	healed := false
	for name := range o.links {
		if _, link, _ := strings.Cut(name, " "); all || link == st.link() {
			delete(o.links, name)
			healed = true
		}
	}
	switch {
	case healed:
		return nil
	case all:
		return o.p.errorf(n, "heal: nothing is cut, slow or lossy")
	}
	return o.p.errorf(n, "heal: no cut, slow or loss reads %q: repeat its words, or heal all", st.link())
}

func (r *Runner) cut(ctx context.Context, st Step) (string, error) {
	request := FaultRequest{Kind: "partition", Nodes: r.resolve(st.Nodes), Peers: r.resolve(st.Peers), Both: st.Both}
	return "", r.inject(ctx, request, "cut "+st.link())
}

func (r *Runner) heal(ctx context.Context, st Step) (string, error) {
	links := []string{"cut", "slow", "loss", "flap", "withhold"}
	for _, name := range slices.Clone(r.order) {
		word, what, _ := strings.Cut(name, " ")
		harm := slices.Contains(links, word)
		all := len(st.Nodes) == 0 && (harm || word == "reset")
		if all || harm && what == st.link() {
			if err := r.undo(ctx, name); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}
