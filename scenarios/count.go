package scenarios

import (
	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/internal/suggest"
)

// WakeUps is what can be counted: how often the service informed a waiting client that
// something changed.
const WakeUps = "wake-ups"

// counted reads what is counted.
func (p *parser) counted(n *yaml.Node) (Fault, error) {
	if n.Value != WakeUps {
		return Fault{}, p.errorf(n, "count: what can be counted is %s, not %q%s", WakeUps, n.Value, suggest.Word(n.Value, []string{WakeUps}))
	}
	return Fault{Word: WakeUps, Text: "count: " + WakeUps}, nil
}

// count begins to count, or ends it.
func (r *Runner) count(what string, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counter = ""
	if on {
		r.counter, r.counts[what] = what, 0
	}
}

// Woken takes a client's word that the service woke it up.
func (r *Runner) Woken(string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counter != "" {
		r.counts[r.counter]++
	}
	r.change()
}

// Counts is what was counted, by name.
func (r *Runner) Counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]int{}
	for k, v := range r.counts {
		out[k] = v
	}
	return out
}
