package scenarios

import (
	"context"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// clockWord sets a node's clock: "clock: redis3 +5s"; makes it run fast or slow: "clock:
// redis3 x1.1"; makes it jump to and fro: "clock: redis3 strobe 50ms"; or sets it right again:
// "clock: redis3 right".
var clockWord = stepWord{name: "clock", fault: "clock", read: (*parser).clock, after: (*order).clock, take: (*Runner).clock}

var clockForm = pattern(`^(\S+)\s+(?:([+-]\S+)|x(\S+)|strobe\s+(\S+)|right)$`)

// fastest is how many seconds a clock can count in a true one; slowest is 1/fastest.
const fastest = 100

const maxJump = (1<<31 - 1) * time.Second

func (p *parser) clock(n *yaml.Node, st *Step, rest string) (err error) {
	m := clockForm().FindStringSubmatch(rest)
	if m == nil {
		return p.errorf(n, "clock: want a node and a jump, as redis3 +5s, a rate, as redis3 x1.1, a jump to and fro, as redis3 strobe 50ms, or right to set it right again")
	}
	switch {
	case m[2] != "":
		if st.By, err = time.ParseDuration(m[2]); err != nil || st.By == 0 || st.By.Abs() > maxJump {
			return p.errorf(n, "clock: %q is no jump: want one like +5s or -1m, of at most 68 years", m[2])
		}
	case m[3] != "":
		if st.Rate, err = strconv.ParseFloat(m[3], 64); err != nil || st.Rate == 1 || !(st.Rate >= 1./fastest && st.Rate <= fastest) {
			return p.errorf(n, "clock: %q is no wrong rate: want one like x1.1 or x0.5, between x%v and x%v", "x"+m[3], 1./fastest, fastest)
		}
	case m[4] != "":
		if st.Strobe, err = time.ParseDuration(m[4]); err != nil || st.Strobe == 0 || st.Strobe.Abs() > maxJump {
			return p.errorf(n, "clock: %q is no jump: want one like 50ms or -1m, of at most 68 years", m[4])
		}
	}
	return p.nodes(n, st, m[1])
}

func (o *order) clock(n *yaml.Node, st *Step) error {
	if st.rightClock() {
		return o.undo(n, st, "clock")
	}
	o.broken["clock "+st.Nodes[0]] = st.Line
	return nil
}

// rightClock: the step sets the clock right.
func (st *Step) rightClock() bool { return st.By == 0 && st.Rate == 0 && st.Strobe == 0 }

// clock sets a clock that is wrong already right first: it goes wrong from the right time.
func (r *Runner) clock(ctx context.Context, st Step) (string, error) {
	node := st.Nodes[0]
	if st.rightClock() {
		return "", r.undo(ctx, "clock "+node)
	}
	if r.heals["clock "+node] != nil {
		if err := r.undo(ctx, "clock "+node); err != nil {
			return "", err
		}
	}
	return "", r.inject(ctx, FaultRequest{Kind: "clock", Nodes: []string{node}, By: st.By, Rate: st.Rate, Strobe: st.Strobe}, "clock "+node)
}
