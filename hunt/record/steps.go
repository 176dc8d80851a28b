package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// register is the node of the fenced register: no server of the lock, and no client.
const register = "register"

// steps are the steps of a schedule that repeat a fault on the nodes that take part, and none
// if no such node is hit. names are what the clients that take part are called in the schedule.
func (r Run) steps(e history.Event, names map[string]string) ([]string, error) {
	if e.Fault == "" {
		return nil, errors.New("no step of a scenario repeats it")
	}
	var out []string
	for text := range strings.SplitSeq(e.Fault, "; ") {
		step := r.step(text, names)
		if step == "" {
			continue
		}
		if _, err := scenarios.NewTriggeredFault(step, scenarios.Trigger{At: scenarios.Start}, scenarios.Until{}); err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		out = append(out, step)
	}
	return out, nil
}

// step rewrites one step, "slow: c1, c2 from redis 50ms±10ms", with the schedule's names and
// leases. It is "" if no node that takes part is left on one of its sides.
func (r Run) step(text string, names map[string]string) string {
	word, rest, _ := strings.Cut(text, ": ")
	out := []string{word + ":"}
	fields := strings.Fields(rest)
	for {
		var nodes []string
		nodes, fields = nodeList(fields)
		if nodes = r.named(nodes, names); len(nodes) == 0 {
			return ""
		}
		out = append(out, strings.Join(nodes, ", "))
		if len(fields) == 0 || fields[0] != "from" && fields[0] != "to" {
			break
		}
		out, fields = append(out, fields[0]), fields[1:]
	}
	for _, value := range fields {
		out = append(out, r.value(value))
	}
	return strings.Join(out, " ")
}

// nodeList takes the nodes off the front, which have commas between them.
func nodeList(fields []string) (nodes, rest []string) {
	for i, f := range fields {
		name, more := strings.CutSuffix(f, ",")
		nodes = append(nodes, name)
		if !more {
			return nodes, fields[i+1:]
		}
	}
	return nodes, nil
}

// named are those of some nodes that take part, by their names in the schedule.
func (r Run) named(nodes []string, names map[string]string) []string {
	var out []string
	for _, n := range nodes {
		switch name, client := names[n]; {
		case client:
			out = append(out, name)
		case slices.Contains(r.Servers, n) || n == register:
			out = append(out, n)
		}
	}
	return out
}

// value turns the times in a value of a step into leases of the schedule: "50ms±10ms", "+4s".
// Any other value stays.
func (r Run) value(text string) string {
	var out []string
	for part := range strings.SplitSeq(text, "±") {
		d, err := time.ParseDuration(part)
		if err != nil {
			return text
		}
		sign := ""
		if strings.HasPrefix(part, "+") {
			sign = "+"
		}
		out = append(out, sign+r.scaled(d).String())
	}
	return strings.Join(out, "±")
}
