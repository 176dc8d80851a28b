package testbeds

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
)

// setsOfVaried is how many runs there are side by side at most on a testbed with other options of the lock: few schedules have them.
const setsOfVaried = 3

// otherOptions are the options of a schedule's lock if this testbed's clients have others; else nil.
func (l *testbed) otherOptions(s *scenarios.Scenario) map[string]string {
	for name, value := range s.Extra {
		if now, given := l.config.Extra[name]; !given || now != value {
			out := maps.Clone(l.config.Extra)
			if out == nil {
				out = map[string]string{}
			}
			maps.Copy(out, s.Extra)
			return out
		}
	}
	return nil
}

// runWithOptions runs a schedule on a testbed whose clients have these options.
func (l *testbed) runWithOptions(ctx context.Context, s *scenarios.Scenario, extra map[string]string) (*hunt.Outcome, error) {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		words = append(words, name+"="+extra[name])
	}
	what := "with --lock-option " + strings.Join(words, ", ")
	a, err := l.withOptions(what, extra)
	if err != nil {
		return nil, err
	}
	return l.runAside(ctx, s, a, what)
}

// withOptions is the testbed with these options, which it prepares if there is none.
func (l *testbed) withOptions(what string, extra map[string]string) (*aside, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.varied[what]; a != nil {
		return a, nil
	}
	c := l.config
	c.Extra, c.Sets = extra, min(max(c.Sets, 1), setsOfVaried)
	n := len(l.varied) + 1
	t, err := l.beside(c, fmt.Sprintf("options-%d", n), fmt.Sprintf("options%d-", n))
	if err != nil {
		return nil, err
	}
	if l.varied == nil {
		l.varied = map[string]*aside{}
	}
	l.varied[what] = &aside{testbed: t}
	return l.varied[what], nil
}
