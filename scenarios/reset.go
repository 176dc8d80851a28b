package scenarios

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// resetWord ends the connections between two sides: "reset: A to redis", "reset: A to redis
// silently", "reset: A to redis half-open".
var resetWord = faultWord{
	name: "reset", kind: "reset", read: (*parser).reset, requests: between("reset"),
	momentary: func(f *Fault) bool { return f.Manner == "" },
}

func (p *parser) reset(n *yaml.Node, f *Fault, rest string) error {
	for _, manner := range []string{"silently", "half-open"} {
		if before, ok := strings.CutSuffix(rest, " "+manner); ok {
			rest, f.Manner = strings.TrimSpace(before), manner
			break
		}
	}
	if strings.Contains(rest, " from ") {
		return p.errorf(n, "reset: a connection has both directions: write A to redis")
	}
	return p.sides(n, f, rest, "want two sides, as A to redis, and silently or half-open after them if not both ends get the reset")
}
