package harness_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/scenarios"
)

// What the cluster does not have is refused before anything is started.
func TestPossible(t *testing.T) {
	for _, c := range []struct {
		lock, cluster string
		faults        []string
		want          string // "": it is possible
	}{
		{"redis", "", []string{"pause:nobody"}, `fault pause:nobody: no target or node "nobody": nodes are c1, c2, c3, c4, c5, redis, register`},
		{"redis", "", []string{"pause", "pause:Holder"}, `no target or node "Holder"`},
		{"redis", "", []string{"partition:redis9"}, `no target or node "redis9"`},
		{"redis", "", []string{"partition:one:servers"}, "one has no link to other servers"},
		{"redlock", "", []string{"partition:one:servers"}, ""},
		{"redis", "", []string{"pause:redis", "pause:c5", "clock:register:+5s"}, ""},
		{"redis", "", []string{"pause:holder", "pause:waiter", "kill:leader", "partition:halves", "partition:waiter:servers", "partition", "all", "clock"}, ""},
		{"redis", "etcd", nil, "lock redis needs redis, and the cluster etcd is of etcd: leave --cluster out, or name one of redis"},
		{"redis", "none", nil, "lock redis needs redis, and the cluster none has no servers"},
		{"redis", "valkey", nil, ""},
		{"redis", "redis-sentinel", nil, ""},
		{"flock", "", nil, ""},
		{"exec:true", "etcd", nil, ""},
		{"etcd", "etcd@3.5.21", []string{"pause:leader", "clock:etcd2:+5s", "disk"}, ""},
		{"etcd", "etcd@latest", nil, `"latest" is no version of etcd`},
		{"redis", "etcd@3.5.21", nil, "lock redis needs redis, and the cluster etcd@3.5.21 is of etcd"},
		{"exec:true", "none", []string{"pause:redis"}, `no target or node "redis": nodes are c1, c2, c3, c4, c5, register`},
	} {
		o := harness.Defaults()
		o.Locks, o.Backends = all.Locks(), all.Backends()
		o.Lock, o.Cluster, o.Faults = c.lock, c.cluster, c.faults
		err := o.Possible(t.Context())
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s on %q under %v: %v", c.lock, c.cluster, c.faults, err)
		case c.want != "" && (!errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s on %q under %v: %v, want %s", c.lock, c.cluster, c.faults, err, c.want)
		}
	}
}

// No cluster of the catalogue is refused for a lock that a scenario runs on it.
func TestServesCatalogue(t *testing.T) {
	table := all.Locks()
	found, err := scenarios.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found {
		for _, name := range s.Locks {
			info, err := table.Lookup(name)
			if err != nil {
				continue // a name for all locks of a kind
			}
			if err := harness.Serves(t.Context(), table, info, s.Cluster); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	}
}
