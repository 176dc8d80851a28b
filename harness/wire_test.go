package harness_test

import (
	"encoding/json"
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
	const head = "name: mine\nabout: mine\nlocks: [redis]\nclients: [A, B]\nttl: 1s\nexpect: {redis: {may: [two-holders]}}\nsteps:\n"
	const before = "  - A: acquire\n  - A: release\n" // its connection is open
	const after = "  - A: acquire, read, write\n  - B: acquire, read, write, release &\n  - await: B waiting\n  - A: release\n  - await: B done\n"
	tests := map[string]string{
		"a request":              "  - hold: A to redis\n  - A: acquire &\n  - await: message from A to redis\n  - await: A granted or 300ms\n  - deliver: A to redis\n  - await: A granted\n  - A: release\n",
		"an answer":              "  - hold: redis to A\n  - A: acquire &\n  - await: message from redis to A\n  - await: key on redis\n  - deliver: redis to A\n  - await: A granted\n  - A: release\n",
		"one by one, both ways":  "  - hold: A from redis\n  - A: acquire &\n  - deliver: 1 from A to redis\n  - await: message from redis to A\n  - deliver: 1 from redis to A\n  - deliver: A from redis\n  - await: A granted\n  - A: release\n",
		"a write and its answer": "  - A: acquire, read\n  - hold: register to A\n  - A: write &\n  - deliver: 1 from register to A\n  - await: A done\n  - deliver: register to A\n  - A: release\n",
		"from the servers":       "  - hold: servers to A, B\n  - A: acquire &\n  - await: 1 messages from servers to A\n  - deliver: servers to A, B\n  - await: A granted\n  - A: release\n",
		// The client waits for a second for the answer: the cut is on for as little of it as will do.
		"after a request":      "  - A: acquire &\n  - await: message of A's acquire sent\n  - cut: redis to A\n  - await: key on redis\n  - await: A granted or 20ms\n  - heal\n  - await: A granted\n  - A: release\n",
		"after an answer":      "  - A: acquire, read, write &\n  - await: message of A's write to register answered\n  - hold: A to redis\n  - await: A done\n  - deliver: A to redis\n  - A: release\n",
		"slow and lossy links": "  - slow: A from redis 60ms±10ms 100kB/s\n  - A: acquire &\n  - await: A granted or 60ms\n  - await: A granted\n  - heal: A from redis\n  - loss: A from redis 30%\n  - A: release\n  - heal\n",
		"reset silently":       "  - reset: A to redis silently\n  - A: acquire &\n  - await: A granted or 300ms\n  - reset: A to redis\n  - await: A done\n  - heal\n",
		"half-open":            "  - reset: A to redis half-open\n  - A: acquire &\n  - await: A done\n  - heal\n",
		"withheld":             "  - withhold: redis to A\n  - A: acquire &\n  - await: message from redis to A\n  - await: key on redis\n  - heal: redis to A\n  - await: A done\n",
		"reset":                "  - hold: A to redis\n  - A: acquire &\n  - await: message from A to redis\n  - reset: A to redis\n  - await: A done\n",
	}
	run := func(name, steps, runtime string) {
		t.Run(runtime+"/"+name, func(t *testing.T) {
			if runtime == "docker" {
				needDocker(t)
			}
			t.Parallel()
			file := filepath.Join(t.TempDir(), "mine.yaml")
			if err := os.WriteFile(file, []byte(head+before+steps+after), 0o600); err != nil {
				t.Fatal(err)
			}
			c, code := runFile(t, file, runtime)
			if code != 0 || c.Met != checker.True || c.Confirmed == 0 {
				t.Errorf("exit %d, %s: %s, %d faults took effect\n%+v", code, c.Expected, c.Why, c.Confirmed, c.Steps)
			}
		})
	}
	held := ""
	for name, steps := range tests {
		run(name, steps, "local")
		if strings.Contains(steps, "reset") {
			run(name, steps, "docker")
		} else {
			held += steps // to start the containers takes the most time
		}
	}
	run("what is held", held, "docker")
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
