package hunt

import (
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// A lock may confuse two keys of which the name of one begins that of the other: it deletes by a pattern, counts
// the waiters by a prefix, or takes the message of one key for another's.

// The workloads of two keys: B has one key in the middle of A's section on the other, while C waits for A's. In shorter
// B has the key whose name is a prefix of the other's, in longer that other.
const (
	shorter = "keys"
	longer  = "keys-longer"
)

// twoKeys are the programs of these workloads.
func twoKeys() [][]string {
	programs := func(name, key, other string) []string {
		return []string{
			name,
			"acquire" + other + ", read, work 0.7 leases, write, release, await C granted or 3 leases, acquire" + other + ", read, write, release",
			"await A granted or 3 leases, acquire" + key + ", read, work 0.3 leases, write, release",
			// What it has given up waiting for must not be given to it while it waits for the other.
			"await B granted or 3 leases, acquire" + key + " within 0.1 leases, release, acquire" + other + ", read, work 0.8 leases, write, release",
		}
	}
	return [][]string{programs(shorter, "", " key 2"), programs(longer, " key 2", "")}
}

// strayingOwner is that B dies in its section, or is stopped before its release.
func strayingOwner(f fault, at scenarios.Trigger) bool {
	if f.whom != clientNames[1] || at.At != scenarios.Before {
		return false
	}
	return f.word == "kill" && at.Do == history.Write || f.word == "pause" && at.Do == history.Release
}

// strayingEnds are when B's lease is over and C has the other key: what B does then must not touch it.
var strayingEnds = []scenarios.Until{{Or: scenarios.Span{Leases: 1}}}

// oneKey has all clients of a schedule acquire the first key.
func oneKey(s *scenarios.Scenario) {
	for _, p := range s.Programs {
		for i := range p {
			p[i].Second = false
		}
	}
}
