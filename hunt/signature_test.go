package hunt

import (
	"slices"
	"testing"

	"github.com/picklock/picklock/scenarios"
)

// Every kind of fault reads as a noun: it stands after "by".
func TestKindWords(t *testing.T) {
	for fault, want := range map[string]string{
		"pause: A":                 "a pause of a client",
		"pause: redis":             "a pause of a server",
		"kill: redis":              "a crash of a server",
		"kill: redis without data": "a lost disk of a server",
		"cut: A to redis":          "a cut of a client",
		"hold: A to redis":         "one slow request",
		"hold: redis to A":         "one slow answer",
		"hold: A to register":      "one slow message to the resource",
		"withhold: redis to A":     "a lost answer",
		"withhold: A to redis":     "a lost request",
		"slow: A from redis 60ms":  "a slow link of a client",
		"loss: A from redis 30%":   "a lossy link of a client",
		"flap: A from redis 200ms": "a flapping link of a client",
		"'reset': A to redis":      "a reset connection",
		"clock: A +5s":             "a wrong clock of a client",
		"failover: redis":          "a failover",
		"powerloss: redis":         "a loss of power",
	} {
		until := ", until: 1 lease"
		if want == "a failover" || want == "a reset connection" {
			until = "" // it is over as soon as it was done
		}
		s, err := scenarios.Parse("x.yaml", []byte("name: x\nabout: x\nlocks: [redis]\nclients:\n  A: acquire, write\nfaults:\n- {when: before A's write, "+fault+until+"}\n"))
		if err != nil {
			t.Errorf("%s: %v", fault, err)
			continue
		}
		if got := (Target{}).kindsOf(s); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", fault, got, want)
		}
	}
}
