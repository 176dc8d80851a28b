package hunt

import (
	"slices"
	"testing"

	"github.com/picklock/picklock/checker/verdict"
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
		"refuse: redis":            "a server that refuses writes",
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

// What is counted as a lease hazard is left out if hazards are ignored, of a session lock, too, which has no lease
// that could have ended.
func TestIgnoreHazards(t *testing.T) {
	all := verdict.Verdict{Valid: verdict.False, Properties: map[string]verdict.Property{
		verdict.Register: {Valid: verdict.False, Required: true}, verdict.Exclusion: {Valid: verdict.False, Required: true},
	}, Anomalies: []verdict.Anomaly{
		{Name: "stale-write", Property: verdict.Register, Key: "k1"},
		{Name: "stale-write", Property: verdict.Register, Key: "k2", Cause: "lease-outlived"},
		{Name: "stale-write", Property: verdict.Register, Key: "k3", Cause: "not-renewed"},
		{Name: "granted-early", Property: verdict.Exclusion, Key: "k4", Cause: "granted-early"},
	}}
	s, err := scenarios.Parse("x.yaml", []byte("name: x\nabout: x\nlocks: [redis]\nclients:\n  A: acquire, write\n"))
	if err != nil {
		t.Fatal(err)
	}
	for ignore, want := range map[bool]int{false: 4, true: 2} {
		got := Options{IgnoreHazards: ignore}.signatures(all, s)
		if len(got) != want || ignore && slices.ContainsFunc(got, Signature.Hazard) {
			t.Errorf("ignored %v: %v, want %d", ignore, got, want)
		}
	}
}

// That a library reports no loss is one omission, whichever fault lets the lease end. What the service did is told apart
// by its faults.
func TestOneOmission(t *testing.T) {
	of := func(cause, kind string, acquiring bool) Signature {
		return Signature{Anomaly: "stale-write", Cause: cause, Kinds: []string{kind}, InAcquire: acquiring}
	}
	if !of("no-notice", "a cut of a client", false).within(of("no-notice", "a pause of a server", true)) {
		t.Error("another fault makes another omission")
	}
	for _, other := range []Signature{of("granted-early", "a pause of a server", false), of("not-renewed", "a cut of a client", false)} {
		if of("no-notice", "a cut of a client", false).within(other) || other.within(of(other.Cause, "a crash of a client", false)) {
			t.Errorf("%s is the same as with another fault", other)
		}
	}
}

// TestAlike: which of the two anomalies shows that a grant came too soon hangs on the run; what a release freed, it tells.
func TestAlike(t *testing.T) {
	early := Signature{Anomaly: "granted-early", Cause: "granted-early", Kinds: []string{"a pause of a client"}}
	for _, c := range []struct {
		o    Signature
		want bool
	}{
		{Signature{Anomaly: "double-grant"}, true},
		{Signature{Anomaly: "granted-early", Cause: "freed-more"}, true},
		{Signature{Anomaly: "granted-early", Cause: "wrong-release"}, false},
		{Signature{Anomaly: "granted-early", Cause: "renewed-early"}, false},
		{Signature{Anomaly: "double-grant", Cause: "not-renewed"}, false},
		{Signature{Anomaly: "revoked-early"}, false},
		{Signature{Anomaly: "token-regression", Cause: "or-overlap"}, false},
	} {
		c.o.Kinds = early.Kinds
		if early.loosely().is(c.o) != c.want || (pendingKey(early) == pendingKey(c.o)) != c.want || early.within(c.o) != c.want {
			t.Errorf("%s: want %v", c.o, c.want)
		}
	}
	fell, again := Signature{Anomaly: "token-regression"}, Signature{Anomaly: "token-reuse", Cause: "went-back"}
	if fell.alike() != again.alike() || fell.alike() == (Signature{Anomaly: "token-regression", Cause: "or-overlap"}).alike() {
		t.Error("tokens that fall and that come again are of one counter, and what may be an overlap is not")
	}
	if early.is(Signature{Anomaly: "double-grant", Kinds: early.Kinds}) {
		t.Error("a run with a double grant shows, strictly taken, an overlap of leases")
	}
}

// What one run tells more precisely than another is no other counterexample.
func TestRoot(t *testing.T) {
	for _, c := range []struct {
		a, b Signature
		same bool
	}{
		{Signature{Anomaly: "granted-early", Cause: "freed-more"}, Signature{Anomaly: "granted-early", Cause: "granted-early"}, true},
		{Signature{Anomaly: "double-grant", Cause: "freed-more"}, Signature{Anomaly: "double-grant"}, true},
		{Signature{Anomaly: "token-reuse", Cause: "went-back"}, Signature{Anomaly: "token-reuse"}, true},
		{Signature{Anomaly: "granted-early", Cause: "freed-more"}, Signature{Anomaly: "granted-early", Cause: "renewed-early"}, false},
		{Signature{Anomaly: "granted-early", Cause: "wrong-release"}, Signature{Anomaly: "granted-early", Cause: "granted-early"}, false},
		{Signature{Anomaly: "token-reuse", Cause: "went-back"}, Signature{Anomaly: "token-regression", Cause: "went-back"}, false},
	} {
		if got := c.a.root() == c.b.root(); got != c.same {
			t.Errorf("%v and %v: one counterexample %v, want %v", c.a, c.b, got, c.same)
		}
		if got := c.a.of(verdict.Group{Name: c.b.Anomaly, Cause: c.b.Cause}); got != c.same {
			t.Errorf("%v stands for %v: %v, want %v", c.a, c.b, got, c.same)
		}
	}
}
