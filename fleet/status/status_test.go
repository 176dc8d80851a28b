package status

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/hunt"
)

// left is what nats.go 1.55 leaves behind if a publisher is cleaned up before this function has
// read which channel to wait for.
const left = "github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(left)) }

const hostile = "\"><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\u202e"

var (
	huntJob   = fleet.Job{Number: 0, Name: "hunt redis none", Lock: "redis", Fencing: "none", Hunt: &fleet.Hunt{Sizes: []int{4}, Slice: 2}}
	matrixJob = fleet.Job{Number: 1, Name: "matrix", Cells: []fleet.Cell{{Scenario: "a", Runs: 3}}}
	stale     = hunt.Signature{Anomaly: "stale-write", Kinds: []string{"pause of a client"}}
	unneeded  = hunt.Signature{Anomaly: "wrong-release"}
)

func TestProgress(t *testing.T) {
	result := func(item string) fleet.Result { return fleet.Result{Item: item, Worker: "w", Runs: 5, Seconds: 2} }
	dead, skipped, unmeasured, broke := result("0.slice.0"), result("0.slice.1"), result("0.measure.0"), result("1.run.0")
	dead.DeadLetter, skipped.Skipped, unmeasured.Skipped, broke.Found = "no redis", true, true, 1
	for name, c := range map[string]struct {
		of       Progress
		headline string
		want     func(j Job) bool
	}{
		"nothing yet": {Progress{Job: huntJob}, "no counterexample so far", func(j Job) bool { return j.Items == 2 && j.Done == 0 && j.Verdict() == "" }},
		"a result counts once": {Progress{Job: huntJob, Results: []fleet.Result{result("0.slice.0"), result("0.slice.0")}}, "no counterexample so far", func(j Job) bool {
			return j.Done == 1 && j.Runs == 5 && j.Seconds == 2 && j.Workers == 1
		}},
		"kinds of results": {Progress{Job: huntJob, Results: []fleet.Result{skipped, unmeasured, dead}}, "no counterexample so far", func(j Job) bool {
			return j.Done == 3 && j.Items == 3 && j.Skipped == 1 && j.Unmeasured == 1 && len(j.DeadLetters) == 1 && j.DeadLetters[0].Why == "no redis"
		}},
		"counterexamples": {Progress{Job: huntJob, Found: []hunt.Signature{unneeded, stale}}, "2 counterexamples so far", func(j Job) bool {
			return j.Verdict() == "fail" && j.Findings[0].String() == "redis, none: stale-write, by pause of a client" && j.Findings[1].String() == "redis, none: wrong-release, no fault injected"
		}},
		"a matrix":            {Progress{Job: matrixJob, Results: []fleet.Result{broke}}, "1 of 1 runs broke something so far, as expected or not", func(j Job) bool { return j.Items == 3 && j.Verdict() == "" }},
		"items that followed": {Progress{Job: huntJob, Waiting: 4, Running: 1, Results: []fleet.Result{skipped}}, "no counterexample so far", func(j Job) bool { return j.Items == 6 }},
		"items that are sent": {Progress{Job: huntJob, Items: 9}, "no counterexample so far", func(j Job) bool { return j.Items == 9 }},
	} {
		if j := c.of.job(); j.Headline != c.headline || !c.want(j) {
			t.Errorf("%s: %+v", name, j)
		}
	}
}

// running is a campaign whose every text is hostile.
func running() *Status {
	s := &Status{ID: "x-1", Name: hostile, State: Running, Version: hostile, Problems: []string{hostile}, Started: time.Unix(1, 0)}
	s.Add(Progress{
		Job:     fleet.Job{Name: hostile, Lock: hostile, Fencing: hostile, Images: map[string]string{hostile: hostile}, Hunt: huntJob.Hunt},
		Found:   []hunt.Signature{{Anomaly: hostile, Kinds: []string{hostile}}},
		Results: []fleet.Result{{Item: "0." + hostile, DeadLetter: hostile}},
	})
	s.Workers = []fleet.Worker{{Name: hostile, Item: hostile, Job: hostile, Version: hostile, Trouble: hostile, Busy: 2, Runs: 3}}
	s.Against, s.Changes = hostile, []fleet.Change{{Job: hostile, Before: hostile, Now: hostile, New: []fleet.Finding{{Of: hostile}}, Gone: []fleet.Finding{{Of: hostile}}}}
	return s
}

func TestHostileTextIsEscaped(t *testing.T) {
	s := running()
	page, err := s.Page(time.Unix(2, 0))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := (&Queue{Campaigns: []*Status{s}, Workers: s.Workers, Problems: s.Problems}).Write(&text); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{"page": string(page), "text": text.String()} {
		if strings.ContainsAny(got, "\x1b\u202e") {
			t.Errorf("the %s has control characters", name)
		}
	}
	if strings.Contains(string(page), "<script>alert") || strings.Contains(string(page), "<img") {
		t.Error("the page has markup that a campaign wrote")
	}
	for _, want := range []string{"1 of 2 items done", "1 dead-lettered", "1 counterexample"} {
		if !strings.Contains(string(page), want) || !strings.Contains(text.String(), want) {
			t.Errorf("%q is not shown", want)
		}
	}
	if got := Clean(strings.Repeat("ä", 3000)); len([]rune(got)) != 2001 {
		t.Errorf("a long text is cut to %d characters", len([]rune(got)))
	}
}

// finished is a report of three jobs: one failed, one passed, one is unknown.
func finished() *fleet.Report {
	return &fleet.Report{ID: "nightly-1", Name: "nightly", Version: "v1", Started: time.Unix(1, 0), Finished: time.Unix(3600, 0), Jobs: []fleet.JobReport{
		{
			Name: "hunt redis none", Lock: "redis", Fencing: "none", Valid: checker.False, Headline: "redis breaks", Folder: "jobs/001", Page: "hunt.html", Items: 3, Runs: 70,
			Findings: []fleet.Finding{{Of: "redis, none", What: "stale-write", Takes: "pause of a client", Rate: "20 of 20"}},
		},
		{Number: 1, Name: "hunt etcd read-write", Lock: "etcd", Fencing: "read-write", Valid: checker.True, Headline: "nothing was found", Items: 12, Runs: 900},
		{Number: 2, Name: "matrix", Valid: checker.Unknown, Headline: "too little", Items: 4, Folder: "../../etc", Page: "passwd", DeadLetters: []fleet.DeadLetter{{Item: "2.run.0", Why: "no redis"}}},
	}}
}

func TestFinishedPage(t *testing.T) {
	s := Of(finished())
	if s.Valid != "false" || s.Items != 19 || s.Done != 19 || s.DeadLettered != 1 || s.Found != 1 {
		t.Errorf("%+v", s)
	}
	b, err := s.Page(time.Unix(2, 0))
	if err != nil {
		t.Fatal(err)
	}
	page := html.UnescapeString(string(b))
	for _, want := range []string{`href="jobs/001/hunt.html"`, `href="campaign.json"`, `class="verdict-broken"`, "20 of 20", "2.run.0", "no redis", `data-state="finished"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page is without %q", want)
		}
	}
	for _, never := range []string{"etc/passwd", `id="workers"`, "Compared with", "http://", "https://"} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %q", never)
		}
	}
	s.Against = "yesterday"
	if b, err = s.Page(time.Unix(2, 0)); err != nil || !strings.Contains(string(b), "Nothing differs") {
		t.Errorf("the comparison is not shown: %v", err)
	}
}

// TestWritePage: a reader beside the writer sees a whole page each time, and no other file is left.
func TestWritePage(t *testing.T) {
	dir := t.TempDir()
	s := Of(finished())
	if err := s.WritePage(dir); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if b, err := os.ReadFile(filepath.Join(dir, PageFile)); err != nil || !strings.HasSuffix(string(b), "</html>\n") {
				t.Errorf("%d bytes, %v", len(b), err)
				return
			}
		}
	})
	for i := range 50 {
		s.Problems = append(s.Problems, fmt.Sprint("problem ", i))
		if err := s.WritePage(dir); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	info, err := entries[0].Info()
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := s.WritePage(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "write campaign.html") {
		t.Errorf("a folder that does not exist: %v", err)
	}
}
