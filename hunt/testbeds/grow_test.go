package testbeds

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/picklock/picklock/hunt"
)

// TestGrow: one more testbed with servers of its own is prepared if a run had to wait for one, up to a number.
func TestGrow(t *testing.T) {
	p := NewPool(Options{Dir: t.TempDir()}, hunt.Target{Lock: "etcd", Servers: []string{"etcd1"}})
	p.own = make(chan *testbed, 2)
	if err := p.addOwn(); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name  string
		short bool
		want  int
	}{
		{"no run had to wait", false, 1},
		{"one had to wait", true, 2},
		{"there are enough", true, 2},
	} {
		p.short.Store(x.short)
		p.grow()
		if len(p.own) != x.want || p.short.Load() {
			t.Errorf("%s: %d testbeds, want %d", x.name, len(p.own), x.want)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestGrowFails: if a testbed cannot be prepared, no more are tried, and Close returns the error.
func TestGrowFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p := NewPool(Options{Dir: dir}, hunt.Target{Lock: "etcd", Servers: []string{"etcd1"}})
	p.own = make(chan *testbed, 2)
	for range 2 {
		p.short.Store(true)
		p.grow()
	}
	if n := len(p.testbeds); n != 1 {
		t.Errorf("it was tried %d times", n)
	}
	if err := p.Close(); err == nil {
		t.Error("no error")
	}
}
