package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Servers that were all killed start together: none of a quorum answers before most of the
// others do. The lock comes back, and what was kept holds.
func TestAllServersKilled(t *testing.T) {
	const text = `name: all-servers-killed
about: every server is killed, and all are started again
locks: [etcd, zookeeper]
fencing: [read-write]
ttl: 1s
clients:
  A: acquire, read, write, release
  B: await A granted, acquire, read, write, release, acquire, read, write, release
faults:
  - when: before A's release
    kill: servers
    until: 0.6 leases
`
	file := filepath.Join(t.TempDir(), "all-servers-killed.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, lock := range []string{"etcd", "zookeeper"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			need(t, lock)
			c, code, _ := runScenario(t, file, lock, "read-write")
			if code > 2 || len(c.Found) > 0 || strings.HasPrefix(c.Why, "discarded") {
				t.Errorf("exit %d: %+v", code, c)
			}
		})
	}
}
