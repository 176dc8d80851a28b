package results

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
)

func one(met, valid checker.Validity, must []string, broken ...string) Cell {
	c := Cell{Scenario: "s", Lock: "l", Fencing: "none", Runs: 1, Met: met, Valid: valid, Expected: "valid", Must: must, Broken: broken, Confirmed: 1}
	if len(must) > 0 {
		c.Expected = strings.Join(must, ", ")
	}
	switch {
	case len(broken) > 0:
	case valid == checker.Unknown:
		c.Unproved = 1
	default:
		c.Clean = 1
	}
	return c
}

func TestCellState(t *testing.T) {
	stale := []string{"stale-write"}
	unknownLock := one(checker.False, checker.False, nil, "stale-write")
	unknownLock.Expected = ""
	leftOut := one(checker.Unknown, checker.Unknown, nil)
	leftOut.LeftOut = "no redis-server"
	for name, tt := range map[string]struct {
		c    Cell
		want State
	}{
		"pass":             {one(checker.True, checker.True, nil), Holds},
		"expected failure": {one(checker.True, checker.False, stale, "stale-write"), Expected},
		"violated":         {unknownLock, Violated},
		"broke":            {one(checker.False, checker.False, nil, "stale-write"), Unexpected},
		"did not break":    {one(checker.False, checker.True, stale), Unexpected},
		"inconclusive":     {one(checker.Unknown, checker.Unknown, nil), Inconclusive},
		"left out":         {leftOut, LeftOut},
	} {
		if got := tt.c.State(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// The worst of several runs speaks for the cell, in whatever order they come.
func TestCellAdd(t *testing.T) {
	good, bad, dunno := one(checker.True, checker.True, nil), one(checker.False, checker.False, nil, "stale-write"), one(checker.Unknown, checker.Unknown, nil)
	good.Dir, bad.Dir, dunno.Dir = "good", "bad", "dunno"
	for _, order := range [][]Cell{{good, bad, dunno}, {bad, good, dunno}, {dunno, bad, good}, {dunno, good, bad}} {
		c := Cell{Met: checker.True, Valid: checker.True, Expected: "valid"}
		for _, o := range order {
			c.Add(o)
		}
		if c.State() != Unexpected || c.Dir != "bad" || c.Runs != 3 || c.Clean != 1 || c.Confirmed != 3 || len(c.Broken) != 1 {
			t.Errorf("%+v", c)
		}
	}
	worse := bad
	worse.Dir = "later"
	c := Cell{Met: checker.True, Valid: checker.True, Expected: "valid"}
	c.Add(bad)
	c.Add(worse)
	if c.Dir != "bad" {
		t.Errorf("%s is shown instead of the first bad run", c.Dir)
	}
	c = Cell{Met: checker.True, Valid: checker.True, Expected: "valid"}
	c.Add(good)
	c.Add(dunno)
	if c.State() != Inconclusive || c.Dir != "dunno" {
		t.Errorf("%s, %s", c.State(), c.Dir)
	}
}

func TestBound(t *testing.T) {
	c := one(checker.True, checker.True, nil)
	c.Confirmed = 300
	if got := c.Bound(); !strings.Contains(got, "0 in 300 faults: at most 1 %") {
		t.Errorf("bound %q", got)
	}
	c.Confirmed = 3
	if got := c.Bound(); got != "" {
		t.Errorf("3 faults say nothing: %q", got)
	}
	if got := one(checker.True, checker.False, []string{"stale-write"}, "stale-write").Bound(); got != "" {
		t.Errorf("with a violation: %q", got)
	}
}

func sampleMatrix(cells ...Cell) *Matrix {
	return &Matrix{Started: time.Unix(1, 0), Finished: time.Unix(61, 0), Versions: map[string]string{"redis-server": "v=7"}, Cells: cells,
		Scenarios: []Ran{{Name: "s", About: "what happens", Source: "https://example.org/x"}}}
}

// What a lock or a history says must not become markup, whatever its source.
func TestMatrixIsEscaped(t *testing.T) {
	c := one(checker.False, checker.False, nil, "stale-write")
	const evil = `</td><script>alert(1)</script>|%0A::error::x` + "\n::error::x"
	c.Lock, c.Why, c.Sentence, c.Dir = "exec:"+evil, evil, evil, `javascript:alert(1)//`
	m := sampleMatrix(c)
	m.Scenarios[0].Source, m.Scenarios[0].About = "javascript:alert(1)", evil
	var page, md, junit, picture bytes.Buffer
	for _, err := range []error{MatrixHTML(&page, m), MatrixMD(&md, m), MatrixJUnit(&junit, m), MatrixSVG(&picture, m)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(picture.String(), "<script"); n > 0 || strings.Contains(picture.String(), "javascript:") {
		t.Errorf("the picture carries markup:\n%s", picture.String())
	}
	if strings.Count(page.String(), "<script") != 1 || regexp.MustCompile(`href="javascript:`).Match(page.Bytes()) {
		t.Errorf("the page carries markup:\n%s", page.String())
	}
	if strings.Contains(md.String(), "<script") || strings.Count(md.String(), "\n::error") > 0 {
		t.Errorf("the table carries markup:\n%s", md.String())
	}
	var parsed junitSuites
	if err := xml.Unmarshal(junit.Bytes(), &parsed); err != nil || parsed.Suites[0].Failures != 1 || parsed.Suites[0].Cases[0].Failure == nil {
		t.Errorf("junit: %v, %+v", err, parsed)
	}
	var log bytes.Buffer
	env := map[string]string{"GITHUB_ACTIONS": "true"}
	if err := GitHub(m, func(k string) string { return env[k] }, &log, false); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "%0A::") {
		t.Errorf("the runner takes %%0A for a new line:\n%s", log.String())
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.HasPrefix(log.String(), "::error title=") {
		t.Errorf("annotations:\n%s", log.String())
	}
}

func TestMatrixPage(t *testing.T) {
	good := one(checker.True, checker.True, nil)
	good.Dir = "cells/s_l_none/1"
	fenced := one(checker.True, checker.False, []string{"stale-write"}, "stale-write")
	fenced.Fencing, fenced.Dir = "read-write", "cells/s_l_read-write/1"
	m := sampleMatrix(good, fenced)
	var b bytes.Buffer
	if err := MatrixHTML(&b, m); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`href="cells/s_l_none/1/report.html"`, `href="cells/s_l_read-write/1/report.html"`, "expected failure", "stale-write", "all 2 cells as expected", "https://example.org/x", "v=7"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if regexp.MustCompile(`(src|href)="https?://[^"]*\.(css|js|png)`).MatchString(b.String()) {
		t.Error("the page needs the network")
	}
	b.Reset()
	if err := MatrixMD(&b, m); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "| s | l | pass | ✗ stale-write |") || !strings.Contains(b.String(), "1970-01-01") {
		t.Errorf("table:\n%s", b.String())
	}
}

func TestExpectations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "expect.yaml")
	holds, breaks := one(checker.True, checker.True, nil), one(checker.True, checker.False, []string{"stale-write"}, "stale-write")
	breaks.Fencing, holds.Lock, breaks.Lock = "write", "exec:python3 my_lock.py", "exec:python3 my_lock.py"
	if err := WriteExpectations(file, sampleMatrix(holds, breaks)); err != nil {
		t.Fatal(err)
	}
	e, err := ReadExpectations(file)
	if err != nil {
		t.Fatal(err)
	}
	vary := func(change func(*Matrix)) *Matrix {
		a, b := holds, breaks
		m := sampleMatrix(a, b)
		change(m)
		e.Apply(m)
		return m
	}
	tests := []struct {
		name   string
		change func(*Matrix)
		want   checker.Validity
	}{
		{"the same", func(*Matrix) {}, checker.True},
		{"one breaks", func(m *Matrix) {
			m.Cells[0].Broken, m.Cells[0].Valid, m.Cells[0].Clean = []string{"lost-update"}, checker.False, 0
		}, checker.False},
		{"one breaks no more", func(m *Matrix) { m.Cells[1].Broken, m.Cells[1].Valid, m.Cells[1].Clean = nil, checker.True, 1 }, checker.False},
		{"one breaks otherwise", func(m *Matrix) { m.Cells[1].Broken = []string{"lost-update"} }, checker.False},
		{"one breaks sometimes", func(m *Matrix) { m.Cells[1].Runs, m.Cells[1].Clean = 2, 1 }, checker.False},
		{"one proves nothing", func(m *Matrix) { m.Cells[0].Valid, m.Cells[0].Met = checker.Unknown, checker.Unknown }, checker.Unknown},
		{"one is new", func(m *Matrix) { m.Cells[1].Lock = "redis" }, checker.False},
		{"one is missing", func(m *Matrix) {
			c := holds
			c.Scenario = "other"
			c.Fencing = "write"
			m.Cells = []Cell{m.Cells[0], c}
			m.Cells[1].LeftOut = "not here"
		}, checker.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := vary(tt.change)
			if got := m.Validity(); got != tt.want {
				t.Errorf("%v, want %v: %+v", got, tt.want, m.Cells)
			}
		})
	}
	for text, want := range map[string]string{
		"{a: b}":                     "expect.yaml:3: want valid or a list",
		"[lost-update, stale-wirte]": `expect.yaml:3: unknown anomaly "stale-wirte": did you mean stale-write?`,
	} {
		if err := os.WriteFile(file, []byte("s:\n  l:\n    none: "+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadExpectations(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

func TestStepSummary(t *testing.T) {
	file := filepath.Join(t.TempDir(), "summary.md")
	if err := os.WriteFile(file, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"GITHUB_STEP_SUMMARY": file}
	if err := GitHub(sampleMatrix(one(checker.True, checker.True, nil)), func(k string) string { return env[k] }, &bytes.Buffer{}, false); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(text), "before\n## picklock: all 1 cell as expected") || !strings.Contains(string(text), "| s | l | pass |") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestGitHubTellsTheCauses(t *testing.T) {
	s := wrongRelease()
	broke := one(checker.False, checker.False, []string{"wrong-release"})
	broke.Sentence, broke.Causes = Sentence(s.verdict), Causes(s.run, s.verdict)
	file := filepath.Join(t.TempDir(), "summary.md")
	env := map[string]string{"GITHUB_STEP_SUMMARY": file, "GITHUB_ACTIONS": "true"}
	var log bytes.Buffer
	if err := GitHub(sampleMatrix(broke, one(checker.True, checker.True, nil)), func(k string) string { return env[k] }, &log, false); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"### What broke, by root cause\n\n- s on l, fencing none\n  - wrong-release × 30: a client released the lock without looking at the owner",
		"which led to 30 overlapping leases (granted-early) and 30 stale-write", "\n  - stale-write × 3: the lease ended", "(https://github.com/picklock/picklock/blob/main/docs/guides/mitigations.md#wrong-release)"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the step's summary lacks %q:\n%s", want, text)
		}
	}
	if !strings.Contains(log.String(), "wrong-release of a.1 b.1 c.1 is told. wrong-release × 30: a client released") {
		t.Errorf("annotation: %s", log.String())
	}
}

// What broke in several runs of a cell is counted together where the cause is the same.
func TestCausesOfSeveralRuns(t *testing.T) {
	release := func(n int, led string) Cause {
		return Cause{Name: "wrong-release", Count: n, Says: "nobody looks; mitigation: look (page)", LedTo: led}
	}
	other := Cause{Name: "wrong-release", Count: 1, Says: "it came late; mitigation: wait (page)"}
	all := one(checker.False, checker.False, []string{"wrong-release"})
	all.Causes = []Cause{release(2, "which led to 1 stale-write")}
	for _, more := range [][]Cause{nil, {other, release(3, "which led to 2 stale-write")}, {other}} {
		run := one(checker.False, checker.False, []string{"wrong-release"})
		run.Causes = more
		all.Add(run)
	}
	got := summed(all.Causes)
	if want := []string{"wrong-release × 5: nobody looks; mitigation: look (page)", "wrong-release × 2: it came late; mitigation: wait (page)"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := summed(make([]Cause, maxSummed+2)); len(got) != maxSummed+1 || got[maxSummed] != "2 more causes" {
		t.Errorf("%q", got)
	}
}

// Where no cell was run, nothing is proved; and what a file expects of a cell counts though it was left out.
func TestLeftOutProvesNothing(t *testing.T) {
	holds, leftOut := Cell{Scenario: "s", Lock: "a", Fencing: "none", Met: checker.True, Valid: checker.True}, Cell{Scenario: "s", Lock: "b", Fencing: "none", LeftOut: "no tokens"}
	for _, x := range []struct {
		cells []Cell
		want  checker.Validity
	}{{nil, checker.Unknown}, {[]Cell{leftOut}, checker.Unknown}, {[]Cell{leftOut, holds}, checker.True}} {
		m := &Matrix{Cells: x.cells}
		if got := m.Validity(); got != x.want {
			t.Errorf("%d cells: %v, want %v", len(x.cells), got, x.want)
		}
	}
	file := filepath.Join(t.TempDir(), "expect.yml")
	if err := os.WriteFile(file, []byte("s: {a: {none: valid}, b: {none: [stale-write]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := ReadExpectations(file)
	if err != nil {
		t.Fatal(err)
	}
	m := &Matrix{Cells: []Cell{leftOut, holds}}
	if e.Apply(m); m.Validity() != checker.Unknown || m.Cells[0].State() != Inconclusive || !strings.Contains(m.Cells[0].Why, "was left out: no tokens") {
		t.Errorf("%v: %+v", m.Validity(), m.Cells[0])
	}
}

// A link of an edited file leads to no other folder.
func TestLinksStayInside(t *testing.T) {
	for dir, want := range map[string]string{"cells/1": "cells/1/report.html", "../../etc": "", "/etc": "", `..\..\etc`: "", "a/../../b": "", "": ""} {
		c := Cell{Dir: dir}
		if got := viewCell(c).Link; got != want || c.reportLink() != want {
			t.Errorf("%q: %q and %q, want %q", dir, got, c.reportLink(), want)
		}
	}
}
