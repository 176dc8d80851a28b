package harness_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/results"
)

// What is held between any two nodes arrives when it is delivered; what is reset comes to
// an end at both of them.
func TestHeldMessages(t *testing.T) {
	need(t, "redis")
	const head = "name: mine\nabout: mine\nlocks: [redis]\nttl: 1s\nexpect: {redis: {may: [two-holders]}}\n"
	// A has an open connection before, and two clients use the lock after.
	const before, after = "acquire, release, ", ", acquire, read, write, await B waiting, release"
	// B asks when the fault that lasts longest is healed: without a grant after that, liveness is unknown.
	const others = "  B: await after A's 3rd acquire, await %s over, acquire, read, write, release\n"
	tests := map[string][4]string{ // what A does in between, what C does meanwhile, the faults, which lasts longest
		"a request": {"acquire, release", "await message from A to redis, await after A's 2nd acquire or 300ms, acquire within 10ms",
			"  - {when: before A's 2nd acquire, hold: A to redis, until: before C's acquire}\n", "hold"},
		"an answer": {"acquire, release", "await hold on, await message from redis to A, await key on redis, acquire within 10ms",
			"  - {when: before A's 2nd acquire, hold: redis to A, until: before C's acquire}\n", "hold"},
		"one by one, both ways": {"acquire, release", "await 2nd deliver over, acquire within 10ms",
			"  - {when: before A's 2nd acquire, hold: A from redis, until: before C's acquire}\n  - {when: A's 2nd acquire, deliver: 1 from A to redis}\n  - {when: 1st deliver over, deliver: 1 from redis to A}\n", "hold"},
		"a write and its answer": {"acquire, read, write, release", "await hold over, acquire within 10ms",
			"  - {when: before A's write, hold: register to A, until: after A's write}\n  - {when: A's write, deliver: 1 from register to A}\n", "hold"},
		"withheld": {"acquire, release", "await message from redis to A, await key on redis, acquire within 10ms",
			"  - {when: before A's 2nd acquire, withhold: redis to A, until: before C's acquire}\n", "withhold"},
		"from the servers": {"acquire, release", "await hold on, await 1 messages from servers to A, acquire within 10ms",
			"  - {when: before A's 2nd acquire, hold: 'servers to A, C', until: before C's acquire}\n", "hold"},
		// The client waits for a second for the answer: the cut is on for as little of it as will do.
		"after a request": {"acquire, release", "await cut on, await key on redis, acquire within 10ms",
			"  - {when: A's 2nd acquire has sent message 1, cut: redis to A, until: before C's acquire}\n", "cut"},
		"after an answer": {"acquire, read, write, release", "await hold over, acquire within 10ms",
			"  - {when: A's write has got answer 1 from register, hold: A to redis, until: after A's write}\n", "hold"},
		"slow and lossy links": {"acquire, await loss on, release", "await loss over, acquire within 10ms",
			"  - {when: before A's 2nd acquire, slow: A from redis 60ms±10ms 100kB/s, until: after A's 2nd acquire}\n  - {when: slow over, loss: A from redis 30%, until: after A's 2nd release}\n", "loss"},
		"reset silently": {"acquire, release", "await 2nd reset over, acquire within 10ms",
			"  - {when: before A's 2nd acquire, reset: A to redis silently, until: after A's 2nd acquire}\n  - {when: 300ms after A asked, reset: A to redis}\n", "1st reset"},
		"half-open": {"acquire, release", "await reset over, acquire within 10ms",
			"  - {when: before A's 2nd acquire, reset: A to redis half-open, until: after A's 2nd acquire}\n", "reset"},
		"reset": {"acquire, release", "await reset over, acquire within 10ms",
			"  - {when: before A's 2nd acquire, hold: A to redis, until: reset over}\n  - {when: message from A to redis, reset: A to redis}\n", "hold"},
	}
	for name, x := range tests {
		runtimes := []string{"local"}
		if strings.Contains(name, "reset") || name == "one by one, both ways" { // to start the containers takes the most time
			runtimes = append(runtimes, "docker")
		}
		for _, runtime := range runtimes {
			t.Run(runtime+"/"+name, func(t *testing.T) {
				if runtime == "docker" {
					needDocker(t)
				}
				t.Parallel()
				text := head + "clients:\n  A: " + before + x[0] + after + "\n  C: " + x[1] + "\n" + fmt.Sprintf(others, x[3]) + "faults:\n" + x[2]
				file := filepath.Join(t.TempDir(), "mine.yaml")
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				c, code := runFile(t, file, runtime)
				if code != 0 || c.Met != checker.True || c.Confirmed == 0 {
					t.Errorf("exit %d, %s: %s, %d faults took effect\n%+v", code, c.Expected, c.Why, c.Confirmed, c.Steps)
				}
			})
		}
	}
}

// playFile runs a scenario from a file.
func runFile(t *testing.T, file, runtime string) (results.Cell, int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	stdout, stderr, code := command(t, "scenario", "run", file, "--lock", "redis", "--runtime", runtime, "--json", "--out", dir)
	var c results.Cell
	if err := json.Unmarshal([]byte(stdout), &c); err != nil {
		t.Fatalf("%s: exit %d: %v\n%s", file, code, err, stderr)
	}
	return c, code
}
