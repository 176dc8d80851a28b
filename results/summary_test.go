package results

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/picklock/picklock/checker"
)

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
		"✗ The redis lock broke under pause of the holder.\n", "✓ exclusion", "✗ belief     broken × 8     not required; a client pause",
		"stale-write at 2.688 s: c1's write was accepted", "  and 11 more\n", "report: picklock-results/x/report.html\n", "again:  picklock run --lock redis",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing from\n%s", want, got)
		}
	}
	if n := strings.Count(got, " at 2"); n == 0 || strings.Count(got, "stale-write at") != maxSummed {
		t.Errorf("anomalies:\n%s", got)
	}
	if strings.Contains(got, "\x1b") {
		t.Error("colour that nobody asked for")
	}
	if !strings.Contains(summary(t, s, true), "\x1b[31m✗\x1b[0m") {
		t.Error("no colour though asked for")
	}
	if u := summary(t, nothingContested(), false); !strings.Contains(u, "? Unknown: nothing is proved about the etcd lock") || !strings.Contains(u, "missing: the fault clock was requested and never landed") {
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
	if err := MarkdownTable(&md, rows); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"✗ broke", "stale-write at 2.688 s", "stale-write 8, two-holders 8", "✓ held", "rejected 3", "? unknown", "clock was requested"} {
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
