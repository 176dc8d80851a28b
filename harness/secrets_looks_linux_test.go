//go:build linux

package harness_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/picklock/picklock/clients/all"
)

// looking asks the service who waits, and its register whether a grant is in force.
const looking = `
name: looking
about: Somebody waits for the lock, and the server says so.
locks: [redis, redis-sentinel, etcd, zookeeper, postgres-table, consul, dynamodb, kubernetes-lease]
ttl: 2s
clients:
  A: acquire, read, write, await key on server1, await B waiting, release, await B done, await key gone on server1
  B: await after A's write, await key on server1, acquire, read, write, release
expect: {"*": valid}
`

// looks runs a scenario that looks into the server, with a register that asks it where it
// can be asked, and returns a text of what is wrong, "" for nothing.
func looks(t *testing.T, g guarded) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "looking.yaml")
	if err := os.WriteFile(file, []byte(looking), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := all.Locks().Lookup(g.lock)
	if err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{"scenario", "run", file, "--lock", g.lock, "--endpoint", g.addr, "--out", filepath.Join(t.TempDir(), "run")}, g.args)
	if info.Sequencer != nil {
		args = append(args, "--fencing", "sequencer")
	}
	if stdout, stderr, code := command(t, args...); code != 0 {
		return stdout + stderr
	}
	return ""
}
