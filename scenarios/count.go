package scenarios

import (
	"context"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/picklock/picklock/internal/suggest"
)

// countWord begins to count: "count: wake-ups".
var countWord = stepWord{name: "count", read: (*parser).counted, after: (*order).count, take: (*Runner).count}

// countedWord ends it, and says how many there were: "counted: wake-ups".
var countedWord = stepWord{name: "counted", read: (*parser).counted, after: (*order).counted, take: (*Runner).counted}

// WakeUps is what can be counted: how often the service informed a waiting client that
// something changed.
const WakeUps = "wake-ups"

func (p *parser) counted(n *yaml.Node, st *Step, rest string) error {
	if rest != WakeUps {
		return p.errorf(n, "%s: what can be counted is %s, not %q%s", st.Word, WakeUps, rest, suggest.Word(rest, []string{WakeUps}))
	}
	st.Count = rest
	return nil
}

func (o *order) count(_ *yaml.Node, st *Step) error {
	o.counting[st.Count] = st.Line
	return nil
}

func (o *order) counted(n *yaml.Node, st *Step) error {
	if o.counting[st.Count] == 0 {
		return o.p.errorf(n, "counted: nothing counts %s: count: %s first", st.Count, st.Count)
	}
	return nil
}

func (r *Runner) count(_ context.Context, st Step) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counter, r.counts[st.Count] = st.Count, 0
	return "", nil
}

func (r *Runner) counted(_ context.Context, st Step) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counter = ""
	return fmt.Sprintf("%d %s", r.counts[st.Count], st.Count), nil
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
