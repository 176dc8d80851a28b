package hunt

import "testing"

// counterexamplesOf makes counterexamples of a lock, with these faults, that came so often in four runs.
func counterexamplesOf(lock string) func(anomaly, cause, faults string, hits int) *Counterexample {
	return func(anomaly, cause, faults string, hits int) *Counterexample {
		return &Counterexample{
			Signature: Signature{Anomaly: anomaly, Cause: cause}, Name: "x", Faults: 1, Search: Rate{Hits: hits, Runs: 4},
			Schedule: "name: x\nabout: x\nlocks: [" + lock + "]\nclients:\n  A: acquire, write, release\n  B: await A granted, acquire, write, release\nfaults:\n" + faults,
		}
	}
}

// TestSameMinority: a lock that too few servers grant is one bug, by whatever fault the others do not answer.
func TestSameMinority(t *testing.T) {
	of := counterexamplesOf("redlock")
	const (
		cut      = "- {when: before A's acquire, 'cut': 'A from redis1, redis2, redis3', until: 2 leases}\n"
		refuse   = "- {when: before B's acquire, refuse: 'redis1, redis2, redis3', until: 2 leases}\n"
		withhold = "- {when: before B's acquire, withhold: 'redis1, redis2, redis3 to B', until: 2 leases}\n"
		all      = "- {when: before B's acquire, withhold: servers to B, until: 2 leases}\n"
		one      = "- {when: before B's acquire, withhold: redis1 to B, until: 2 leases}\n"
		kill     = "- {when: after A's acquire, kill: 'redis1, redis2, redis3', until: 0.1 leases}\n"
		clock    = "- {when: before A's acquire, clock: A +1s, until: 2 leases}\n"
	)
	known := of("granted-early", minority, cut, 4)
	for _, c := range []struct {
		name string
		o    *Counterexample
		same bool
	}{
		{"by another fault", of("granted-early", minority, refuse, 4), true},
		{"by a crash", of("granted-early", minority, kill, 4), true},
		{"of which the record does not show it", of("granted-early", "granted-early", withhold, 4), true},
		{"whose lease seems to be counted late", of("granted-early", countedLate, withhold, 1), true},
		{"all servers", of("granted-early", "granted-early", all, 4), true},
		{"fewer servers", of("granted-early", "granted-early", one, 4), false},
		{"servers that forget", of("granted-early", "granted-early", kill, 4), false},
		{"a clock", of("granted-early", "granted-early", clock, 4), false},
		{"a clock, now and then", of("granted-early", "granted-early", clock, 2), true},
		{"servers that forget, now and then", of("granted-early", "granted-early", kill, 2), true},
		{"another cause, now and then", of("granted-early", "wrong-release", kill, 2), false},
		{"two faults", of("granted-early", "granted-early", withhold+clock, 4), false},
		{"another cause", of("granted-early", "wrong-release", withhold, 4), false},
		{"another anomaly", of("token-reuse", "", withhold, 4), false},
	} {
		if known.sameMinority(c.o) != c.same || c.same && !c.o.sameBug(known) {
			t.Errorf("%s: one bug %v, want %v", c.name, !c.same, c.same)
		}
		if c.same && known.heads(c.o) != (c.o.Cause != minority) {
			t.Errorf("%s: the wrong one stands for both", c.name)
		}
	}
	if seldom := of("granted-early", minority, cut, 1); seldom.sameMinority(of("granted-early", "granted-early", withhold, 4)) {
		t.Error("what came once explains what comes always")
	}
}

// TestSameNoServer: a lock that grants itself if no server answers is one bug, by whatever fault its client has no answer.
func TestSameNoServer(t *testing.T) {
	of := counterexamplesOf("redis")
	const (
		cut    = "- {when: before B's acquire, cut: B from redis, until: 2 leases}\n"
		reset  = "- {when: before B's acquire, reset: B to servers}\n"
		server = "- {when: before B's acquire, pause: redis, until: 2 leases}\n"
		client = "- {when: before B's acquire, pause: B, until: 2 leases}\n"
		kill   = "- {when: before B's acquire, kill: redis, until: 2 leases}\n"
	)
	known := of("double-grant", noServer, cut, 4)
	for _, c := range []struct {
		name string
		o    *Counterexample
		same bool
	}{
		{"which the record shows", of("granted-early", noServer, kill, 1), true},
		{"by a reset", of("granted-early", "granted-early", reset, 4), true},
		{"by a reset, without a lease", of("double-grant", "", reset, 4), true},
		{"by a server that is stopped", of("granted-early", countedLate, server, 4), true},
		{"by a client that is stopped", of("granted-early", "granted-early", client, 4), false},
		{"by a server that forgets", of("granted-early", "granted-early", kill, 4), false},
		{"another cause", of("granted-early", "own-release", reset, 4), false},
		{"another anomaly", of("token-reuse", "", reset, 4), false},
	} {
		if known.sameNoServer(c.o) != c.same || c.same && (!c.o.sameBug(known) || known.heads(c.o) != (c.o.Cause != noServer)) {
			t.Errorf("%s: one bug %v, want %v", c.name, known.sameNoServer(c.o), c.same)
		}
	}
	if seldom := of("double-grant", noServer, cut, 1); seldom.sameNoServer(of("granted-early", "granted-early", reset, 4)) {
		t.Error("what came once explains what comes always")
	}
}
