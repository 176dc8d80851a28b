package harness_test

import (
	"os"
	"path/filepath"
	"testing"
)

// Programs of what a lock can do that is no mutex; the rest of the scenario is the same for all.
const (
	readersProgram = `  A: acquire shared, read, work 0.4 leases, read, release
  B: await A granted, acquire shared, read, release
  C: await B granted, acquire, read, write, release
`
	entriesProgram = `  A: acquire, read, acquire, write, work 0.2 leases, release, work 0.2 leases, write, release
  B: await A granted, acquire, read, write, release
`
	permitsProgram = `  A: acquire, read, work 0.6 leases, write, release
  B: await A granted, acquire, read, work 0.4 leases, write, release
  C: await B granted, acquire, release
`
	// In these A releases twice, and the second time others hold all that there is; C waits for it.
	twiceProgram = `  A: acquire, read, release, await after B's work or 3 leases, release again
  B: await A granted, acquire, read, work 0.2 leases, work 0.2 leases, write, release
  C: await B granted, acquire, read, write, release
`
	readersTwiceProgram = `  A: acquire shared, read, release, await after B's work or 3 leases, release again
  B: await A granted, acquire shared, read, work 0.2 leases, work 0.2 leases, release
  C: await B granted, acquire, read, write, release
`
	permitsTwiceProgram = `  A: acquire, read, release, await after C's work or 3 leases, release again
  B: await A granted, acquire, work 0.2 leases, work 0.2 leases, release
  C: await A granted, acquire, work 0.2 leases, work 0.2 leases, release
  D: await C granted, acquire, release
`
)

// A lock of each kind does what its clients may expect, and a lock of no such kind is not judged by it: what readers
// share, a mutex refuses to.
func TestScenariosOfKinds(t *testing.T) {
	t.Parallel()
	need(t, "redis")
	for _, tt := range []struct {
		lock, program string
		not           string // appears, besides
		code          int
	}{
		{"redis-rwlock", readersProgram, ", stale-write, lost-update", 0},
		{"redis-reentrant", entriesProgram, ", stale-write, lost-update", 0},
		{"redis-lua", entriesProgram, ", stale-write, lost-update", 0}, // whose second acquire is passed over, and its last write
		{"redis-semaphore", permitsProgram, "", 0},
		{"redis-lua", readersProgram, "", 2},
		{"redis-lua", twiceProgram, ", stale-write, lost-update, false-belief", 0},
		{"redis-reentrant", twiceProgram, ", stale-write, lost-update, false-belief", 0},
		{"redis-rwlock", readersTwiceProgram, ", stale-write, lost-update", 0},
		{"redis-semaphore", permitsTwiceProgram, "", 0},
	} {
		t.Run(tt.lock, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "kinds.yaml")
			text := "name: kinds\nabout: programs of a kind of lock\nlocks: [\"*\", " + tt.lock + "]\nttl: 1s\nclients:\n" + tt.program + "expect:\n  \"*\": {not: [granted-early, double-grant" + tt.not + "]}\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := put(t.Context(), filepath.Join(dir, "run"), tt.lock, file)
			if err != nil {
				t.Fatal(err)
			}
			if s.code != tt.code || len(s.found) > 0 {
				t.Errorf("exit %d, %v %s %s; want %d", s.code, s.found, s.why, s.left, tt.code)
			}
		})
	}
}
