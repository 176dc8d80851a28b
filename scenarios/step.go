package scenarios

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/picklock/picklock/internal/meant"
	"go.yaml.in/yaml/v3"
)

// Step is one line of a script.
type Step struct {
	Line int
	Text string // as written: "A: acquire &"
	Word string // "act", or one of stepWords

	Client     string // of an act
	Acts       []string
	Background bool // started, not waited for

	Nodes, Peers []string // whom a fault hits; of a cut, the two sides
	Both         bool     // a cut both ways
	By           time.Duration
	Wipe         bool
	Await        *Await
	Count        string
}

// steps reads the script and checks that its order is possible.
func (p *parser) steps(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return p.errorf(n, "steps: want a list")
	}
	order := newOrder(p)
	for _, item := range n.Content {
		st, err := p.step(item)
		if err != nil {
			return err
		}
		if err := order.next(item, st); err != nil {
			return err
		}
		p.s.Steps = append(p.s.Steps, *st)
	}
	return order.end(n)
}

func (p *parser) step(n *yaml.Node) (*Step, error) {
	word, rest := n.Value, ""
	switch {
	case n.Kind == yaml.ScalarNode && n.Value != "":
	case n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[1].Kind == yaml.ScalarNode:
		word, rest = n.Content[0].Value, strings.TrimSpace(n.Content[1].Value)
	default:
		return nil, p.errorf(n, `a step is one line, as "A: acquire" or "pause: A"`)
	}
	st := &Step{Line: n.Line, Word: word, Text: strings.TrimSuffix(word+": "+rest, ": ")}
	switch {
	case slices.Contains(p.s.Clients, word):
		return st, p.act(n, st, word, rest)
	case slices.Contains(stepWords, word):
		return st, p.fill(n, st, rest)
	case clientForm.MatchString(word):
		return nil, p.errorf(n, "client %s is not among the scenario's clients%s (%s)", word, meant.Word(word, p.s.Clients), listed(p.s.Clients))
	}
	return nil, p.errorf(n, "unknown step %q%s (have %s, or a client's name)", word, meant.Word(word, stepWords), strings.Join(stepWords, ", "))
}

// fill reads what follows the word of a step that is no client's.
func (p *parser) fill(n *yaml.Node, st *Step, rest string) (err error) {
	switch st.Word {
	case "await":
		st.Await, err = p.await(n, rest)
		return err
	case "only if":
		return p.only(n, st, rest)
	case "count", "counted":
		if rest != WakeUps {
			return p.errorf(n, "%s: what can be counted is %s, not %q%s", st.Word, WakeUps, rest, meant.Word(rest, []string{WakeUps}))
		}
		st.Count = rest
		return nil
	case "heal":
		if rest != "" {
			return p.cut(n, st, rest)
		}
		return nil
	case "cut":
		return p.cut(n, st, rest)
	case "clock":
		m := clockForm().FindStringSubmatch(rest)
		if m == nil {
			return p.errorf(n, "clock: want a node and a jump, as redis3 +5s, or right to set it right again")
		}
		rest = m[1]
		if m[2] != "right" {
			if st.By, err = time.ParseDuration(m[2]); err != nil || st.By == 0 {
				return p.errorf(n, "clock: %q is no jump: want one like +5s or -1m", m[2])
			}
		}
	case "kill":
		if before, ok := strings.CutSuffix(rest, "without data"); ok {
			rest, st.Wipe = strings.TrimRight(before, " ,"), true
		}
	}
	st.Nodes, err = p.targets(n, st.Word, rest)
	if err == nil && len(st.Nodes) != 1 && slices.Contains([]string{"failover", "powerloss", "mark"}, st.Word) {
		err = p.errorf(n, "%s: want one server", st.Word)
	}
	return err
}

// Servers stands for all servers where nodes are named.
const Servers = "servers"

var nodeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]*$`) })

func (p *parser) targets(n *yaml.Node, word, text string) ([]string, error) {
	var out []string
	for _, t := range strings.Split(text, ",") {
		t = strings.TrimSpace(t)
		switch {
		case !nodeForm().MatchString(t):
			return nil, p.errorf(n, "%s: want the names of nodes, not %q", word, t)
		case clientForm.MatchString(t) && !slices.Contains(p.s.Clients, t):
			return nil, p.errorf(n, "client %s is not among the scenario's clients%s (%s)", t, meant.Word(t, p.s.Clients), listed(p.s.Clients))
		}
		out = append(out, t)
	}
	return out, nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "there are none: give clients: [A, B]"
	}
	return strings.Join(names, ", ")
}

var stepWords = []string{
	"pause", "resume", "kill", "start", "cut", "heal", "clock", "failover", "powerloss", "mark", "await", "only if", "count", "counted",
}
