package scenarios

import (
	"context"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// holdWord keeps messages at their sender's door: "hold: A to redis", or "hold: A from
// redis" both ways.
var holdWord = stepWord{name: "hold", fault: "hold", read: (*parser).hold, after: (*order).hold, take: (*Runner).hold}

const holdSides = "want two sides, as A to redis (what A sends waits) or A from redis (both ways)"

func (p *parser) hold(n *yaml.Node, st *Step, rest string) error {
	return p.sides(n, st, rest, holdSides)
}

// ways are the step's two sides, as written.
func (st *Step) ways() string { return strings.TrimPrefix(st.Text, st.Word+": ") }

func (o *order) hold(n *yaml.Node, st *Step) error {
	if line := o.holds[st.ways()]; line != 0 {
		return o.p.errorf(n, "hold: %s is held since line %d", st.ways(), line)
	}
	o.holds[st.ways()] = st.Line
	return nil
}

// held checks that something is held at all.
func (o *order) held(n *yaml.Node, what string, from, to []string) error {
	withheld := slices.ContainsFunc(slices.Collect(maps.Keys(o.links)), func(name string) bool { return strings.HasPrefix(name, withholdWord.name+" ") })
	if len(o.holds) == 0 && !withheld {
		return o.p.errorf(n, "%s: nothing is held: hold: %s to %s first", what, strings.Join(from, ", "), strings.Join(to, ", "))
	}
	return nil
}

func (r *Runner) hold(ctx context.Context, st Step) (string, error) {
	request := FaultRequest{Kind: "hold", Nodes: r.resolve(st.Nodes), Peers: r.resolve(st.Peers), Both: st.Both}
	return "", r.inject(ctx, request, "hold "+st.ways())
}
