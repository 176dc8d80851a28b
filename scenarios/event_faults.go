package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/internal/suggest"
)

// faultRef names a fault of the track: "pause", "pause of A", "2nd pause of A".
type faultRef struct {
	Word, Node string
	Nth        int
	Over       bool
}

func (f faultRef) String() string {
	text := f.Word
	if f.Node != "" {
		text += " of " + f.Node
	}
	if f.Nth > 0 {
		text = ordinal(f.Nth) + " " + text
	}
	return text
}

// faultEvent is that a fault of the track has taken effect, or is over: "pause of A on", "cut over".
var faultEvent = event{
	what: "fault", form: pattern(`^(?:(\d+)(?:st|nd|rd|th) )?([a-z]+)(?: of (\S+))? (on|over)$`), example: "pause of A on, pause of A over",
	read: func(p *parser, n *yaml.Node, a *Await, groups []string) (err error) {
		a.Fault = faultRef{Word: groups[1], Node: groups[2], Over: groups[3] == "over"}
		if groups[0] != "" {
			if a.Fault.Nth, err = strconv.Atoi(groups[0]); err != nil || a.Fault.Nth < 1 {
				return p.errorf(n, "await: %q: count from 1", a.Fault)
			}
		}
		if !slices.Contains(faultWords(), a.Fault.Word) {
			return p.errorf(n, "await: no fault is called %q%s (have %s)", a.Fault.Word, suggest.Word(a.Fault.Word, faultWords()), strings.Join(faultWords(), ", "))
		}
		p.check(func() error {
			if _, err := p.s.fault(a.Fault); err != nil {
				return p.errorf(n, "await: %v", err)
			}
			return nil
		})
		return nil
	},
	text: func(a *Await) string {
		if a.Fault.Over {
			return "the end of the " + a.Fault.String()
		}
		return "the " + a.Fault.String()
	},
	at: func(r *Runner, a *Await) (int64, error) {
		i, err := r.scenario.fault(a.Fault)
		if err != nil {
			return 0, &neverError{err.Error()}
		}
		f := r.faults[i]
		switch {
		case f.outcome != nil:
			return 0, &neverError{fmt.Sprintf("%s: %v", f.Fault.Text, f.outcome)}
		case a.Fault.Over:
			return there(f.over), nil
		}
		return there(f.landed), nil
	},
}

// fault finds the one fault of the track that is named.
func (s *Scenario) fault(ref faultRef) (int, error) {
	var found []int
	for i, f := range s.TriggeredFaults {
		if f.Fault.Word == ref.Word && (ref.Node == "" || slices.Contains(f.Fault.Nodes, ref.Node)) {
			found = append(found, i)
		}
	}
	nth := max(ref.Nth, 1)
	switch {
	case len(found) < nth:
		return 0, fmt.Errorf("there is no %s among the faults", ref)
	case len(found) > 1 && ref.Nth == 0:
		return 0, fmt.Errorf("%d faults are a %s: say which, as %s of A, or 2nd %s", len(found), ref, ref.Word, ref)
	}
	return found[nth-1], nil
}
