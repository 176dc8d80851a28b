package testbeds

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
	"github.com/picklock/picklock/workloads"
)

// unstartable is a testbed that nothing can start.
func unstartable(t *testing.T, beside int) *testbed {
	t.Helper()
	p := NewPool(Options{Dir: t.TempDir(), Keys: "mine", Self: filepath.Join(t.TempDir(), "none"), besideOfLarger: beside}, hunt.Target{})
	l, err := p.prepare(workloads.Settings{Lock: "redis"}, nil, 8)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The clients of few schedules are on a testbed of its own, whose keys are no other's.
func TestWithAll(t *testing.T) {
	l := unstartable(t, besideOfLarger)
	if err := l.withAll(); err != nil {
		t.Fatal(err)
	}
	all := l.larger.testbed
	if err := l.withAll(); l.larger.testbed != all || err != nil {
		t.Errorf("another one the second time: %v", err)
	}
	c := all.config
	if !slices.Equal(l.config.Clients, []string{"A", "B", "C"}) || !slices.Equal(c.Clients, []string{"A", "B", "C", "D", "E"}) || c.Settings.Clients != 5 || l.config.Settings.Clients != 3 {
		t.Errorf("%d of %v beside %d of %v", c.Settings.Clients, c.Clients, l.config.Settings.Clients, l.config.Clients)
	}
	if c.Keys == l.config.Keys || c.Sets != besideOfLarger || filepath.Dir(all.log) != c.Dir || c.Dir == l.config.Dir {
		t.Errorf("%+v", c)
	}
	if l := unstartable(t, 0); l.withAll() != nil || l.larger.testbed.config.Sets != 1 {
		t.Errorf("%d runs of a library's clients side by side", l.larger.testbed.config.Sets)
	}
	if l.count() != 0 || l.close() != nil {
		t.Error("it runs already")
	}
}

// A machine that cannot start all clients has the hunt go on without the schedules that need them.
func TestLargerCannotStart(t *testing.T) {
	l := unstartable(t, 1)
	s := &scenarios.Scenario{Clients: []string{"A", "D"}}
	if out, err := l.Run(t.Context(), s); out != nil || err == nil || errors.Is(err, hunt.ErrUnusable) {
		t.Fatalf("the first time: %v, %v", out, err)
	}
	for range 2 {
		out, err := l.Run(t.Context(), s)
		if err != nil || !out.Unsupported || !strings.HasPrefix(out.Discarded, "with 5 clients: ") {
			t.Fatalf("then: %+v, %v", out, err)
		}
	}
	if l.larger.failed != startsAside {
		t.Errorf("it was tried %d times", l.larger.failed)
	}
	if out, err := l.Run(t.Context(), &scenarios.Scenario{Clients: []string{"A", "B"}}); out != nil || err == nil {
		t.Errorf("two clients ran: %v, %v", out, err)
	}
}
