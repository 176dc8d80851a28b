package testbeds

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/workloads"
)

// The clients of few schedules are on a testbed of its own, whose keys are no other's.
func TestWithAll(t *testing.T) {
	p := NewPool(Options{Dir: t.TempDir(), Keys: "mine"}, hunt.Target{})
	l, err := p.prepare(workloads.Settings{Lock: "redis"}, nil, 8)
	if err != nil {
		t.Fatal(err)
	}
	larger, err := l.withAll()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := l.withAll(); again != larger || err != nil {
		t.Errorf("another one the second time: %v", err)
	}
	c := larger.config
	if !slices.Equal(l.config.Clients, []string{"A", "B", "C"}) || !slices.Equal(c.Clients, []string{"A", "B", "C", "D", "E"}) || c.Settings.Clients != 5 || l.config.Settings.Clients != 3 {
		t.Errorf("%d of %v beside %d of %v", c.Settings.Clients, c.Clients, l.config.Settings.Clients, l.config.Clients)
	}
	if c.Keys == l.config.Keys || c.Sets != besideOfLarger || filepath.Dir(larger.log) != c.Dir || c.Dir == l.config.Dir {
		t.Errorf("%+v", c)
	}
	if p.Starts() != 0 || l.close() != nil {
		t.Error("it runs already")
	}
}
