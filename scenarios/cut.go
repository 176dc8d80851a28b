package scenarios

import (
	"context"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// cutWord cuts links: "cut: A from redis4, redis5" both ways, "cut: A to redis4" one way.
var cutWord = stepWord{name: "cut", fault: "partition", read: (*parser).cut, after: (*order).cut, take: (*Runner).cut}

// healWord heals the cut that the same words made: "heal: A to redis4"; or all cuts: "heal".
var healWord = stepWord{name: "heal", read: (*parser).heal, after: (*order).heal, take: (*Runner).heal}

// cut reads "A from redis4, redis5" (both ways) or "A to redis4" (one way).
func (p *parser) cut(n *yaml.Node, st *Step, rest string) (err error) {
	left, right, ok := strings.Cut(rest, " from ")
	st.Both = ok
	if !ok {
		if left, right, ok = strings.Cut(rest, " to "); !ok {
			return p.errorf(n, "%s: want two sides, as A from redis4, redis5 (both ways) or A to redis4 (what A sends is lost)", st.Word)
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

func (o *order) cut(_ *yaml.Node, st *Step) error {
	o.cuts[strings.TrimPrefix(st.Text, "cut: ")] = st.Line
	return nil
}

func (o *order) heal(n *yaml.Node, st *Step) error {
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
	return nil
}

func (r *Runner) cut(ctx context.Context, st Step) (string, error) {
	request := FaultRequest{Kind: "partition", Nodes: r.resolve(st.Nodes), Peers: r.resolve(st.Peers), Both: st.Both}
	return "", r.inject(ctx, request, "cut "+strings.TrimPrefix(st.Text, "cut: "))
}

func (r *Runner) heal(ctx context.Context, st Step) (string, error) {
	for _, name := range slices.Clone(r.order) {
		if what, ok := strings.CutPrefix(name, "cut "); ok && (len(st.Nodes) == 0 || what == strings.TrimPrefix(st.Text, "heal: ")) {
			if err := r.undo(ctx, name); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}
