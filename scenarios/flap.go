package scenarios

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// flapWord cuts links and heals them, again and again, so long down and so long up: "flap: A to
// redis 200ms", "flap: A from redis 200ms" both ways.
var flapWord = faultWord{name: "flap", kind: "flap", read: (*parser).flap, requests: between("flap")}

var flapForm = pattern(`^(.*\S)\s+(\d\S*)$`)

func (p *parser) flap(n *yaml.Node, f *Fault, rest string) (err error) {
	const want = "want two sides and how long each time, as A to redis 200ms (what A sends) or A from redis 200ms (both ways)"
	m := flapForm().FindStringSubmatch(rest)
	if m == nil {
		return p.errorf(n, "flap: %s", want)
	}
	if f.Flap, err = time.ParseDuration(m[2]); err != nil || f.Flap <= 0 {
		return p.errorf(n, "flap: %q is no length of time: want one like 200ms", m[2])
	}
	return p.sides(n, f, m[1], want)
}
