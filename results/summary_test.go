package results

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/checker/verdict"
)

func junitOf(t *testing.T, s sample) string {
	t.Helper()
	var b strings.Builder
	if err := JUnit(&b, s.run, s.verdict); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func summary(t *testing.T, s sample, color bool) string {
	t.Helper()
	var b strings.Builder
	if err := Summary(&b, s.run, s.verdict, "picklock-results/x/report.html", color); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSummary(t *testing.T) {
	s := redisPaused(8)
	got := summary(t, s, false)
	for _, want := range []string{
		"✗ FAIL: 0 lock bugs, 1 lease hazard. The redis lock kept its promises under pause of the holder; a client went on after it had lost the lock.\n", "    lease hazard\n", "✓ exclusion", "○ overlapping holders fail × 8       not required; a client pause",
		"stale-write × 8, first at 2.688 s: c1's write was accepted",
		"    cause:      the lease ended while its holder was stopped, and it wrote all the same; probably brought about by pause of c1\n    mitigation: only fencing at the resource helps\n                https://github.com/picklock/picklock/blob/main/docs/concepts/fencing.md\n",
		"overlapping holders (two-holders) × 8, first at 2.278 s: c1 and c3 both", "    not required\n", "report: picklock-results/x/report.html\n", "again:  picklock run --lock redis",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing from\n%s", want, got)
		}
	}
	if strings.Index(got, "stale-write ×") > strings.Index(got, "(two-holders) ×") || strings.Count(got, "stale-write") != 1 {
		t.Errorf("want one line a kind, what decides first:\n%s", got)
	}
	if strings.Contains(got, "\x1b") {
		t.Error("colour that nobody asked for")
	}
	if !strings.Contains(summary(t, s, true), "\x1b[31m✗\x1b[0m") {
		t.Error("no colour though asked for")
	}
	if u := summary(t, nothingContested(), false); !strings.Contains(u, "? UNKNOWN. It is not proved that the etcd lock keeps its promises under ") || !strings.Contains(u, "missing: the fault clock was requested and never took effect") {
		t.Errorf("unknown:\n%s", u)
	}
	lost := redisPaused(1)
	lost.verdict.Stats.Acknowledged, lost.verdict.Stats.LostUpdates = 200, 36
	if l := summary(t, lost, false); !strings.Contains(l, "36 of 200 acknowledged updates lost (18 %)") {
		t.Errorf("lost updates:\n%s", l)
	}
}

func TestSummaryCannotSteerATerminal(t *testing.T) {
	for _, r := range summary(t, hostileSample(), false) {
		if r != '\n' && !printable(r) {
			t.Fatalf("%q reaches the terminal", r)
		}
	}
}

func TestTables(t *testing.T) {
	a, b, c := redisPaused(8), etcdValid(120), nothingContested()
	rows := []Row{RowOf(a.run, a.verdict), RowOf(b.run, b.verdict), RowOf(c.run, c.verdict)}
	var text, md strings.Builder
	if err := TextTable(&text, rows, false); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		md.WriteString(r.Markdown() + "\n")
	}
	for _, want := range []string{"✗ lease hazard", "stale-write at 2.688 s", "stale-write 8, two-holders 8", "✓ pass", "rejected 3", "? unknown", "clock was requested"} {
		if !strings.Contains(text.String(), want) || !strings.Contains(md.String(), want) {
			t.Errorf("%q is missing from\n%s%s", want, text.String(), md.String())
		}
	}
	// Columns line up: the verdict stands at one place in every line.
	at := -1
	for i, line := range strings.Split(strings.TrimSpace(text.String()), "\n") {
		word := []string{"verdict", "✗", "✓", "?"}[i]
		if here := utf8.RuneCountInString(line[:strings.Index(line, word)]); at >= 0 && here != at {
			t.Errorf("line %d is out of line:\n%s", i, text.String())
		} else {
			at = here
		}
	}
	evil := Row{Lock: "a|b\n<i>`_*", Verdict: checker.False}
	if line := evil.Markdown(); strings.Count(line, " | ") != len(columns)-1 || strings.Contains(line, "<i>") || !strings.Contains(line, `a\|b`) {
		t.Errorf("%q", line)
	}
}

// wrongRelease is what a run of DEL without an owner looks like: early harm by a lease
// that was outlived, and then the deeper cause with all that it led to.
func wrongRelease() sample {
	s := redisPaused(1)
	in := func(name, property, cause, grants string, at int64) checker.Anomaly {
		return checker.Anomaly{Name: name, Property: property, Cause: cause, Key: "k0", Grants: strings.Fields(grants), Time: at * ms, Faults: []string{"pause"}, Suspect: &verdict.Suspect{Fault: "pause", Nodes: []string{"a"}, On: verdict.OnClient},
			Explanation: name + " of " + grants + " is told"}
	}
	s.verdict.Anomalies = nil
	for i := range int64(3) {
		s.verdict.Anomalies = append(s.verdict.Anomalies, in("stale-write", checker.Register, "lease-outlived", "a.1 b.1", 100+i))
	}
	for i := range int64(30) {
		s.verdict.Anomalies = append(s.verdict.Anomalies, in("granted-early", checker.Exclusion, "wrong-release", "b.1 c.1", 1000+i),
			in("wrong-release", checker.Exclusion, "", "a.1 b.1 c.1", 1000+i), in("stale-write", checker.Register, "granted-early", "b.1 c.1", 1100+i),
			in("granted-early", checker.Exclusion, "granted-early", "x.1 y.1", 1100+i))
	}
	for name, n := range map[string]int{checker.Exclusion: 90, checker.Register: 33} {
		s.verdict.Properties[name] = checker.Property{Valid: checker.False, Required: true, Anomalies: n}
	}
	return s
}

// A wrong step of the lock is one bug, which several faults may make visible: all of them are named, and none where it
// shows without one.
func TestAWrongStepUnderSeveralFaults(t *testing.T) {
	clock := &verdict.Suspect{Fault: "clock", Nodes: []string{"redis"}, On: verdict.OnServer}
	for says, suspects := range map[string][]*verdict.Suspect{
		"freed another client's; it probably shows only under clock of a server or pause of a client\n": {clock},
		"freed another client's\n": {clock, nil},
	} {
		s := wrongRelease()
		for i, by := range suspects {
			s.verdict.Anomalies[4+4*(i+3)].Suspect = by // of one of the releases
		}
		got := summary(t, s, false)
		if !strings.Contains(got, "cause:      a client released the lock without looking at the owner, or under the same owner's name, and "+says) || strings.Count(got, "  wrong-release × 30") != 1 {
			t.Errorf("want %q in\n%s", says, got)
		}
	}
}

// What the run is told of first is the cause, not what happened to come first.
func TestTheDeepestCauseComesFirst(t *testing.T) {
	s := wrongRelease()
	got := summary(t, s, false)
	at := 0
	for _, want := range []string{
		"  wrong-release × 30, first at 1.000 s: wrong-release of a.1 b.1 c.1 is told\n",
		"    cause:      a client released the lock without looking at the owner, or under the same owner's name, and freed another client's; it probably shows only under pause of a\n    mitigation: compare the owner and delete in one step\n",
		"/docs/guides/mitigations.md#wrong-release\n",
		"    which led to 30 overlapping leases (granted-early) and 30 stale-write, perhaps also to 30 more overlapping leases (granted-early):\n",
		"      overlapping leases (granted-early) × 60, first at 1.000 s: granted-early of b.1 c.1 is told\n",
		"      stale-write × 30, first at 1.100 s: stale-write of b.1 c.1 is told\n",
		"  stale-write × 3, first at 0.100 s: stale-write of a.1 b.1 is told\n", "only fencing at the resource helps",
	} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or not after what should precede it:\n%s", want, got)
		}
		at += i
	}

	junit := junitOf(t, s)
	for _, want := range []string{
		`message="exclusion failed: 90 anomalies; wrong-release × 30: a client released the lock without looking`, `type="lock bug"`,
		"granted-early × 60, a consequence of wrong-release × 30: a client released", "guides/mitigations.md#wrong-release", "which led to 30 overlapping leases (granted-early) and 30 stale-write",
	} {
		if !strings.Contains(junit, want) {
			t.Errorf("junit.xml lacks %q:\n%s", want, junit)
		}
	}
}

// TestPromisesUntried: that a lock kept its promises is said only where that was tried, and never
// of a run that was cut short.
func TestPromisesUntried(t *testing.T) {
	const kept = "lock kept its promises"
	s := redisPaused(8)
	if got := summary(t, s, false); !strings.Contains(got, kept) {
		t.Errorf("%s", got)
	}
	cut := s
	cut.run.CutShort, cut.run.Limit = time.Second, time.Minute
	cut.verdict = cut.run.Judged(cut.verdict)
	untried := s
	untried.verdict.Promises, untried.verdict.PromisesWhy = checker.Unknown, "exclusion: nothing was contested"
	for want, s := range map[string]sample{"cut short after": cut, "(exclusion: nothing was contested)": untried} {
		got := summary(t, s, false)
		if strings.Contains(got, kept) || !strings.Contains(got, "was tried too little") || !strings.Contains(got, want) {
			t.Errorf("%q of\n%s", want, got)
		}
	}
}
