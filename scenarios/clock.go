package scenarios

import (
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// clockWord sets a node's clock: "clock: redis3 +5s"; makes it run fast or slow: "clock:
// redis3 x1.1"; or makes it jump to and fro: "clock: redis3 strobe 50ms".
var clockWord = faultWord{name: "clock", kind: "clock", read: (*parser).clock, requests: each(FaultRequest{Kind: "clock"})}

var clockForm = pattern(`^(\S+)\s+(?:([+-]\S+)|x(\S+)|strobe\s+(\S+))$`)

// fastest is how many seconds a clock can count in a true one; slowest is 1/fastest.
const fastest = 100

const maxJump = (1<<31 - 1) * time.Second

func (p *parser) clock(n *yaml.Node, f *Fault, rest string) (err error) {
	m := clockForm().FindStringSubmatch(rest)
	if m == nil {
		return p.errorf(n, "clock: want a node and a jump, as redis3 +5s, a rate, as redis3 x1.1, or a jump to and fro, as redis3 strobe 50ms")
	}
	switch {
	case m[2] != "":
		if f.By, err = time.ParseDuration(m[2]); err != nil || f.By == 0 || f.By.Abs() > maxJump {
			return p.errorf(n, "clock: %q is no jump: want one like +5s or -1m, of at most 68 years", m[2])
		}
	case m[3] != "":
		if f.Rate, err = strconv.ParseFloat(m[3], 64); err != nil || f.Rate == 1 || !(f.Rate >= 1./fastest && f.Rate <= fastest) {
			return p.errorf(n, "clock: %q is no wrong rate: want one like x1.1 or x0.5, between x%v and x%v", "x"+m[3], 1./fastest, fastest)
		}
	case m[4] != "":
		if f.Strobe, err = time.ParseDuration(m[4]); err != nil || f.Strobe == 0 || f.Strobe.Abs() > maxJump {
			return p.errorf(n, "clock: %q is no jump: want one like 50ms or -1m, of at most 68 years", m[4])
		}
	}
	return p.nodes(n, f, m[1])
}
