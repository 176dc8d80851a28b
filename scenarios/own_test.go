package scenarios

import (
	"strings"
	"testing"
)

const ownHead = "name: x\nabout: y\nlocks: [redis, \"*\"]\nfencing: [none, write]\nclients: [A, B]\nsteps:\n  - A: acquire\n"

func TestOwnExpectations(t *testing.T) {
	s, err := Parse("mine.yaml", []byte(ownHead+"expect:\n  own: {none: {may: [stale-write]}}\n  \"*\": {none: [stale-write], \"*\": valid}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for cell, want := range map[[2]string]string{
		{"redis", "none"}: "stale-write", {"exec:x", "none"}: "valid (perhaps stale-write)", {"test:T", "none"}: "valid (perhaps stale-write)", {"exec:x", "write"}: "valid",
	} {
		if got := s.Expected(cell[0], cell[1]).String(); got != want {
			t.Errorf("%v: %s, want %s", cell, got, want)
		}
	}
	for lock, want := range map[string]bool{"redis": true, "exec:x": true, "test:T": true, "etcd": false} {
		if s.AppliesTo(lock) != want {
			t.Errorf("applies to %s: %v", lock, !want)
		}
	}
}

func TestOwnMistakes(t *testing.T) {
	for text, want := range map[string]string{
		head + "steps: [{A: acquire}]\nexpect:\n  own: valid\n  \"*\": valid\n": `give "*" among the locks`,
		head + "needs: [tokns]\nsteps: [{A: acquire}]\n" + tail:                 `"tokns": did you mean tokens?`,
		ownHead + "  - only if: A done\n" + tail:                                "want an event and a limit",
		ownHead + "  - only if: A done within soon\n" + tail:                    "want an event and a limit",
		ownHead + "  - only if: A done or 1s within 2s\n" + tail:                `leave the "or" away`,
		ownHead + "  - B: acquire within soon &\n" + tail:                       `"soon" is no length of time`,
		ownHead + "  - A: read within 1s\n" + tail:                              "only an acquire can be given a limit",
		ownHead + "  - await: 0 requests at servers\n" + tail:                   "no number of requests",
	} {
		if _, err := Parse("mine.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
