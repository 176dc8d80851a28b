package testbeds

import (
	"maps"
	"strings"
	"testing"

	"github.com/picklock/picklock/scenarios"
)

// Schedules with other options of the lock are on testbeds of their own, one for all with the same.
func TestWithOptions(t *testing.T) {
	l := unstartable(t, 1)
	l.config.Extra = map[string]string{"watchdog": "no"}
	for name, tc := range map[string]struct{ of, want map[string]string }{
		"none":              {nil, nil},
		"those that it has": {map[string]string{"watchdog": "no"}, nil},
		"one more":          {map[string]string{"watchdog": "no", "nested": "2"}, map[string]string{"watchdog": "no", "nested": "2"}},
		"one alone":         {map[string]string{"nested": "2"}, map[string]string{"watchdog": "no", "nested": "2"}},
		"another value":     {map[string]string{"watchdog": "yes"}, map[string]string{"watchdog": "yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := l.otherOptions(&scenarios.Scenario{Extra: tc.of}); !maps.Equal(got, tc.want) || (got == nil) != (tc.want == nil) {
				t.Errorf("%v", got)
			}
		})
	}
	nested := map[string]string{"watchdog": "no", "nested": "2"}
	a, err := l.withOptions("nested", nested)
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.withOptions("others", map[string]string{"watchdog": "yes"})
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := l.withOptions("nested", nested); again != a || a == b {
		t.Error("which testbed it is depends on more than the options")
	}
	c, d := a.testbed.config, b.testbed.config
	if !maps.Equal(c.Extra, nested) || c.Sets != setsOfVaried || c.Dir == d.Dir || c.Keys == d.Keys || c.Keys == l.config.Keys || c.Settings.Clients != 3 {
		t.Errorf("%+v beside %+v", c, d)
	}
	if len(l.aside()) != 2 {
		t.Errorf("%d testbeds beside it", len(l.aside()))
	}
}

// A machine on which a client does not start with other options has the hunt go on without the schedules that have them.
func TestOptionsCannotStart(t *testing.T) {
	l := unstartable(t, 1)
	s := &scenarios.Scenario{Clients: []string{"A", "B"}, Extra: map[string]string{"nested": "2"}}
	if out, err := l.Run(t.Context(), s); out != nil || err == nil {
		t.Fatalf("the first time: %v, %v", out, err)
	}
	out, err := l.Run(t.Context(), s)
	if err != nil || !out.Unsupported || !strings.HasPrefix(out.Discarded, "with --lock-option nested=2: ") {
		t.Errorf("then: %+v, %v", out, err)
	}
}
