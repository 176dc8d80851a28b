package scenarios

import (
	"strings"
	"testing"
)

const ownHead = "name: x\nabout: y\nlocks: [redis, \"*\"]\nfencing: [none, write]\nclients:\n  A: acquire\n  B: acquire\n"

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
	program := func(moves string) string { return head + "clients:\n  A: " + moves + "\n" + tail }
	for text, want := range map[string]string{
		head + oneClient + "expect:\n  own: valid\n  \"*\": valid\n": `give "*" among the locks`,
		head + "needs: [tokns]\n" + oneClient + tail:                 `"tokns": did you mean tokens?`,
		program("acquire, await A done within soon"):                 `"soon" is no length of time`,
		program("acquire, await A done or 1s within 2s"):             `leave the "or" away`,
		program("acquire, await 0 requests at servers"):              "no number of requests",
		program("acquire within soon"):                               `"soon" is no length of time`,
		program("acquire, renew for ever"):                           `renew for: "ever" is no length of time`,
		program("acquire, write for 1s"):                             "only a renew a time",
		program("acquire, read within 1s"):                           "only an acquire can be given a limit",
	} {
		if _, err := Parse("mine.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
