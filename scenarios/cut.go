package scenarios

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

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
