package checker

import (
	"flag"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawTraits draws a service and its clients.
func drawTraits(t *rapid.T) traits {
	yes := func(name string) bool { return rapid.Bool().Draw(t, name) }
	is := traits{
		clients: rapid.IntRange(2, 4).Draw(t, "clients"), tokens: yes("tokens"), careful: yes("careful"), try: yes("try"),
		confirms: yes("confirms"), agrees: yes("agrees"), faults: yes("faults"), losses: yes("losses"),
	}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 3:
		is.permits = rapid.IntRange(1, 3).Draw(t, "permits")
	case 4:
		is.shared = true
	case 5:
		is.nested = true
	}
	if yes("leases") {
		is.lease = rapid.Int64Range(1, 10).Draw(t, "lease") * 100 * ms
		is.watchdog = yes("watchdog")
	}
	is.losses = is.losses && !is.watchdog
	is.fencing = is.tokens && is.permits == 0 && !is.shared && yes("fencing")
	return is
}

// often draws more runs than is usual: one takes less than a millisecond. They are the same ones each
// time, so that a change is judged by what it changed. "make services" draws new ones: -rapid.seed=0.
func often(t *testing.T, f func(*rapid.T)) {
	t.Helper()
	seed, given := flag.Lookup("rapid.seed"), false
	flag.Visit(func(f *flag.Flag) { given = given || f == seed })
	if !given {
		defer func() { _ = seed.Value.Set("0") }()
	}
	for n := range 20 {
		if !given {
			_ = seed.Value.Set(strconv.Itoa((n + 1) * 1_000_000)) // rapid draws near a seed
		}
		if rapid.Check(t, f); t.Failed() {
			return
		}
	}
}

// TestSoundServices: whatever the clients and the network of a sound lock do, the checker names no
// lock bug.
func TestSoundServices(t *testing.T) {
	for name, change := range map[string]func(*traits){
		"as drawn": func(*traits) {},
		"leases of seconds, whose clients poll": func(is *traits) {
			is.lease, is.polls = max(4*is.lease, 1200*ms), true
		},
		"leases of seconds, of which the library says nothing": func(is *traits) {
			is.silent, is.watchdog, is.losses = true, true, false
			is.lease, is.polls = max(4*is.lease, 1200*ms), true
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]int{}
			often(t, func(rt *rapid.T) {
				is := drawTraits(rt)
				change(&is)
				soundService(rt, simulated(rt, is), seen)
			})
			t.Log(seen)
		})
	}
}

// soundService fails if the checker accuses the service, and counts in seen what else it names.
func soundService(rt *rapid.T, m *model, seen map[string]int) {
	if err := sound(m.in); err != nil {
		rt.Fatalf("the history is none: %v\n%s", err, m)
	}
	v := Check(m.in)
	for _, g := range v.Groups() {
		seen[g.Name+"/"+g.Cause]++
		if g.Class() == "bug" {
			rt.Fatalf("a sound lock is accused: %s/%s: %s\n%s", g.Name, g.Cause, v.Anomalies[g.First].Explanation, m)
		}
	}
	plain(rt, v, m)
	for _, a := range v.Anomalies {
		if m.fencing && (a.Name == "stale-write" || a.Name == "lost-update") {
			rt.Fatalf("behind fencing: %s: %s\n%s", a.Name, a.Explanation, m)
		}
	}
	for name, p := range v.Properties {
		if strings.Contains(p.Why, "CONTRADICTS") {
			rt.Fatalf("%s: %s\n%s", name, p.Why, m)
		}
	}
}

// plain fails if an explanation says that something took less than no time.
func plain(rt *rapid.T, v Verdict, m *model) {
	for _, a := range v.Anomalies {
		if strings.Contains(a.Explanation, " -") {
			rt.Fatalf("%s: %s\n%s", a.Name, a.Explanation, m)
		}
	}
}

// accusable are, by the bug of a simulated service, the lock bugs that the checker may name: what follows
// from that bug, and what its clients cannot distinguish from it. A grant that is lost right before a release looks as if
// that had freed more than it should.
var accusable = map[string][]string{
	"early":            {"granted-early/granted-early", "granted-early/given-up", "granted-early/renewed-meanwhile", "granted-early/rounded", "granted-early/counted-late", "granted-early/confirmed-lost", "granted-early/late-release", "granted-early/own-release", "granted-early/shared-expiry", "granted-early/downgrade-gap", "granted-early/freed-more", "revoked-early/", "revoked-early/noticed", "revoked-early/late-release", "stale-write/granted-early", "token-regression/or-overlap"},
	"forgets":          {"granted-early/granted-early", "granted-early/given-up", "granted-early/renewed-meanwhile", "granted-early/rounded", "granted-early/counted-late", "granted-early/confirmed-lost", "granted-early/renewed-ended", "granted-early/late-release", "granted-early/own-release", "granted-early/shared-expiry", "granted-early/downgrade-gap", "granted-early/freed-more", "double-grant/freed-more", "revoked-early/", "revoked-early/noticed", "revoked-early/late-release", "double-grant/", "double-grant/given-up", "double-grant/own-release", "double-grant/downgrade-gap", "double-grant/late-release", "stale-write/granted-early", "token-regression/or-overlap"},
	"frees anyone's":   {"wrong-release/", "wrong-release/renewed-late", "granted-early/freed-more", "double-grant/freed-more", "granted-early/granted-early", "granted-early/given-up", "granted-early/renewed-meanwhile", "granted-early/rounded", "granted-early/counted-late", "granted-early/confirmed-lost", "granted-early/late-release", "granted-early/own-release", "granted-early/shared-expiry", "granted-early/downgrade-gap", "granted-early/wrong-release", "double-grant/wrong-release", "double-grant/", "double-grant/given-up", "double-grant/own-release", "double-grant/downgrade-gap", "double-grant/late-release", "revoked-early/wrong-release", "false-belief/released", "stale-write/granted-early", "revoked-early/", "revoked-early/noticed", "revoked-early/late-release", "token-regression/or-overlap"},
	"two at once":      {"granted-early/granted-early", "granted-early/given-up", "granted-early/renewed-meanwhile", "granted-early/rounded", "granted-early/counted-late", "granted-early/confirmed-lost", "granted-early/renewed-ended", "granted-early/late-release", "granted-early/own-release", "granted-early/shared-expiry", "granted-early/downgrade-gap", "granted-early/freed-more", "double-grant/freed-more", "double-grant/", "double-grant/given-up", "double-grant/own-release", "double-grant/downgrade-gap", "double-grant/late-release", "stale-write/granted-early", "false-belief/held", "false-belief/extended", "false-belief/released", "deadlock/", "deadlock/lost-hold", "deadlock/lost-acquire", "deadlock/lost-release", "deadlock/given-up", "deadlock/lost-wake-up", "deadlock/own-again", "wrong-release/", "wrong-release/renewed-late", "double-grant/wrong-release", "false-rejection/", "token-regression/or-overlap"},
	"tokens repeat":    {"token-reuse/"},
	"tokens fall":      {"token-regression/", "token-reuse/", "token-regression/went-back", "token-reuse/went-back", "false-rejection/token-regression", "token-regression/or-overlap"},
	"extends the lost": {"false-belief/extended", "granted-early/granted-early", "granted-early/given-up", "granted-early/renewed-meanwhile", "granted-early/rounded", "granted-early/counted-late", "granted-early/confirmed-lost", "granted-early/renewed-ended", "granted-early/late-release", "granted-early/own-release", "granted-early/shared-expiry", "granted-early/downgrade-gap", "granted-early/renewed-early", "stale-write/renewed-late", "stale-write/granted-early", "token-regression/or-overlap"},
	"revokes":          {"granted-early/granted-early", "granted-early/given-up", "granted-early/renewed-meanwhile", "granted-early/rounded", "granted-early/counted-late", "granted-early/confirmed-lost", "granted-early/renewed-ended", "granted-early/late-release", "granted-early/own-release", "granted-early/shared-expiry", "granted-early/downgrade-gap", "granted-early/freed-more", "double-grant/freed-more", "double-grant/", "double-grant/given-up", "double-grant/own-release", "double-grant/downgrade-gap", "double-grant/late-release", "revoked-early/", "revoked-early/noticed", "revoked-early/late-release", "stale-write/granted-early", "token-regression/or-overlap"},
	"loses a waiter":   {"deadlock/", "deadlock/lost-hold", "deadlock/lost-acquire", "deadlock/lost-release", "deadlock/given-up", "deadlock/lost-wake-up", "deadlock/own-again", "deadlock/crashed-holder"},
	"keeps the lock":   {"not-freed/"},
	"by a clock":       {"granted-early/granted-early", "granted-early/given-up", "granted-early/renewed-meanwhile", "granted-early/rounded", "granted-early/counted-late", "granted-early/confirmed-lost", "granted-early/late-release", "granted-early/own-release", "granted-early/shared-expiry", "granted-early/downgrade-gap", "revoked-early/", "revoked-early/noticed", "stale-write/granted-early", "deadlock/", "deadlock/lost-hold", "deadlock/lost-acquire", "deadlock/lost-release", "deadlock/given-up", "deadlock/lost-wake-up", "deadlock/own-again", "token-regression/or-overlap"},
}

// mayName lists what may be named of the bug of a service, or of its two bugs. Where a release of what is no longer held
// is no error, what follows such a release seems to come of it.
func (is traits) mayName() []string {
	var out []string
	for bug := range strings.SplitSeq(is.bug, ", ") {
		out = append(out, accusable[bug]...)
	}
	if is.agrees {
		out = append(out, "wrong-release/", "wrong-release/renewed-late", "double-grant/wrong-release", "revoked-early/wrong-release", "granted-early/freed-more", "double-grant/freed-more")
	}
	return out
}

// TestBrokenServices: of a broken service the checker names nothing but its bug, and finds each bug.
func TestBrokenServices(t *testing.T) {
	for _, bug := range bugs {
		t.Run(bug, func(t *testing.T) {
			seen := map[string]int{}
			often(t, func(rt *rapid.T) {
				is := drawTraits(rt)
				is.bug = bug
				if strings.HasSuffix(bug, "by a clock") {
					is.lease, is.faults = max(is.lease, 100*ms), true
				}
				if bug == "keeps the lock" {
					is.lease, is.polls, is.losses, is.try = max(4*is.lease, 1200*ms), true, false, false
					is.silent = rapid.Bool().Draw(rt, "silent")
					is.watchdog = is.watchdog || is.silent
				}
				if strings.HasPrefix(bug, "tokens") {
					is.tokens, is.nested = true, false // of a reentrant lock they are not judged
				}
				m := simulated(rt, is)
				if err := sound(m.in); err != nil {
					rt.Fatalf("the history is none: %v\n%s", err, m)
				}
				v := Check(m.in)
				for _, g := range v.Groups() {
					if g.Class() != "bug" {
						continue
					}
					name := g.Name + "/" + g.Cause
					if seen[name]++; !slices.Contains(is.mayName(), name) {
						rt.Fatalf("%s: %s\n%s", name, v.Anomalies[g.First].Explanation, m)
					}
				}
				plain(rt, v, m)
				for name, p := range v.Properties {
					if strings.Contains(p.Why, "CONTRADICTS") {
						rt.Fatalf("%s: %s\n%s", name, p.Why, m)
					}
				}
			})
			t.Log(seen)
			if len(seen) == 0 && !testing.Short() {
				t.Errorf("never found")
			}
		})
	}
}
