package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"html/template"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/results"
)

const schedule = `name: counterexample-1-granted-early
about: "x"
locks: [redis]
fencing: [none]
ttl: 250ms
clients:
  A: acquire, read, work 1.3 leases, write, release
  B: await A granted, acquire, read, write, release
faults:
  - when: before A's write
    pause: A
    until: after B's write or 3 leases
`

// result is what a hunt found: two counterexamples, of which one comes once only.
func result() *hunt.Result {
	ms := int64(time.Millisecond)
	at := func(i int64, who string, t history.Type, f string, time int64) history.Event {
		return history.Event{Index: i, Process: who, Type: t, F: f, Key: "h1", Time: time * ms}
	}
	events := []history.Event{
		at(0, "A", history.Invoke, history.Acquire, 1), at(1, "A", history.OK, history.Acquire, 5),
		at(2, "B", history.Invoke, history.Acquire, 20), at(3, "B", history.OK, history.Acquire, 200),
		at(4, "B", history.Invoke, history.Release, 300), at(5, "A", history.Invoke, history.Release, 330),
	}
	events[1].Grant, events[1].Lease, events[1].Since = "A-1", 250*ms, ms
	events[3].Grant, events[3].Lease, events[3].Since = "B-1", 250*ms, 20*ms
	return &hunt.Result{
		Lock: "redis", Fencing: "none", TTL: 250 * ms, Seed: 7, Seconds: 60, Runs: 120, Granted: 110, Discarded: 8, Busy: 2, States: 90, Guided: 20,
		Command: []string{"picklock", "hunt", "--lock", "redis"}, Started: time.Date(2026, 11, 22, 13, 0, 0, 0, time.UTC),
		Depths: []hunt.Depth{
			{Faults: 0, Space: 6, Ran: 6, Done: true},
			{Faults: 1, Space: 1491, Same: 12, Ran: 29, Discarded: 8, Failed: 1, Infeasible: 10, NotReached: 1443, Broke: 3}},
		Uncovered: []hunt.Uncovered{
			{Faults: 1, What: hunt.WasDiscarded, Why: "A's 3rd message never came", Schedules: 8}, {Faults: 1, What: hunt.WasFailed, Why: "no answer", Schedules: 1},
			{Faults: 1, What: hunt.WasInfeasible, Why: "no disks", Schedules: 6}, {Faults: 1, What: hunt.WasInfeasible, Why: "no clock", Schedules: 2},
			{Faults: 1, What: hunt.WasInfeasible, Why: "no replica", Schedules: 1}, {Faults: 1, What: hunt.WasInfeasible, Why: "no power", Schedules: 1},
		},
		Curve: []hunt.Sample{{Seconds: 1, Runs: 10, States: 20}, {Seconds: 30, Runs: 60, States: 70}, {Seconds: 60, Runs: 120, States: 90}},
		Counterexamples: []*hunt.Counterexample{
			{
				Signature: hunt.Signature{Anomaly: "granted-early", Kinds: []string{"a pause of a client"}}, Name: "counterexample-1-granted-early", Schedule: schedule,
				Explanation: "B was granted the lock 51 ms before A's lease was over.", Anomalies: []string{"granted-early"}, FirstSecond: 12, Faults: 1, Steps: 10,
				Search: hunt.Rate{Hits: 3, Runs: 3}, Alone: hunt.Rate{Hits: 20, Runs: 20}, Needed: []string{"pause: A", "client B"},
				Without:     []hunt.Mitigation{{Name: "pause: A", Rate: hunt.Rate{Runs: 10}}},
				Mitigations: []hunt.Mitigation{{Name: "--fencing read-write", Rate: hunt.Rate{Runs: 10}}, {Name: "--check-lease", Rate: hunt.Rate{Hits: 10, Runs: 10}}, {Name: "a longer lease", Why: "no server"}, {Name: "--lock-option delay=1s", Rate: hunt.Rate{Discarded: 11}}},
				Evidence:    &hunt.Evidence{Events: events, Anomaly: verdict.Anomaly{Name: "granted-early", Property: "exclusion", Key: "h1", Processes: []string{"A", "B"}, Grants: []string{"A-1", "B-1"}, Time: 200 * ms, Events: []int64{1, 3}}},
			},
			{
				Signature: hunt.Signature{Anomaly: "stale-write", Cause: hunt.AfterLease}, Name: "counterexample-2-stale-write", Schedule: schedule, Anomalies: []string{"stale-write"},
				Search: hunt.Rate{Hits: 2, Runs: 6},
			},
		},
		Infeasible: []string{"failover: redis: there is nobody to take over"}, Versions: map[string]string{"picklock": "v1"},
	}
}

// clean is a hunt that found nothing.
func clean() *hunt.Result {
	r := result()
	r.Counterexamples, r.Depths[1].Broke = nil, 0
	return r
}

func render(t *testing.T, r *hunt.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r, "dir"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPage(t *testing.T) {
	page := render(t, result())
	for _, want := range []string{
		"FAIL: 1 lock bug, 1 lease hazard<", "redis · fencing none", `verdict-broken`, "a pause of a client", "granted-early", "lock bug", "lease hazard", "no fault injected", "20 of 20", "B was granted the lock 51 ms before",
		"<svg", "picklock scenario run dir/counterexamples/counterexample-1-granted-early.yaml --lock redis --fencing none", "--fencing read-write: prevents it (0 of 10)",
		"--check-lease: does not prevent it (10 of 10)", "a longer lease: not tried: no server", "pause: A, client B", "fault: pause: A when before A&#39;s write", "there is nobody to take over",
		"picklock hunt --lock redis", `class="curve"`, "1 of 2 is reproduced reliably",
		// The second counterexample needs less, and is no lock bug.
		"Smallest counterexample: a pause of a client (20 of 20)", "confirmed: pause: A (without it: 0 of 10)", "<li>no fault injected</li>",
		"Everything here is needed",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, no := range []string{"http://", "https://", " src="} {
		if strings.Contains(strings.ReplaceAll(page, "http://www.w3.org/2000/svg", ""), no) {
			t.Errorf("the page asks for something: %q", no)
		}
	}
	page = render(t, clean())
	if !strings.Contains(page, "PASS: no counterexample in 6 of 6 schedules without faults, 29 of 1491 with 1 fault, 20 guided schedules") || !strings.Contains(page, "verdict-holds") || strings.Contains(page, `class="map"`) {
		t.Error("the page of a hunt that found nothing")
	}
	discarded := clean()
	discarded.Discarded = 100
	if !strings.Contains(render(t, discarded), "verdict-unknown") {
		t.Error("too much was discarded")
	}
	never := clean()
	never.Granted = 0
	if !strings.Contains(render(t, never), "verdict-unknown") {
		t.Error("nobody ever got the lock")
	}
	if page := render(t, &hunt.Result{}); !strings.Contains(page, "no schedule was run") {
		t.Error("the page of nothing")
	}
}

const evil = `</style></script><script>alert(1)</script><img src=x onerror=alert(1)>"'` + "`"

// hostile is a result in which a lock or a server wrote everything.
func hostile() *hunt.Result {
	r := result()
	r.Lock, r.Fencing, r.Command, r.Infeasible = "exec:"+evil, evil, []string{"picklock", evil}, []string{evil}
	r.Versions = map[string]string{evil: evil}
	w := r.Counterexamples[0]
	w.Explanation, w.Name, w.Cause, w.Kinds, w.Needed = evil, evil, evil, []string{evil}, []string{evil}
	w.Mitigations = append(w.Mitigations, hunt.Mitigation{Name: evil, Why: evil}, hunt.Mitigation{Name: evil, Rate: hunt.Rate{Hits: 1, Runs: 2}})
	w.Schedule = strings.ReplaceAll(schedule, `"x"`, `"y"`)
	for i := range w.Evidence.Events {
		w.Evidence.Events[i].Process, w.Evidence.Events[i].Key = evil, evil
	}
	w.Evidence.Anomaly.Name, w.Evidence.Anomaly.Key, w.Evidence.Anomaly.Processes = evil, evil, []string{evil}
	return r
}

func TestHostilePage(t *testing.T) {
	page := render(t, hostile())
	if strings.Contains(page, "<img") || strings.Count(page, "<script") != 1 || strings.Count(page, "</script>") != 1 || strings.Count(page, "</style>") != 1 {
		t.Error("what a lock wrote is markup")
	}
}

// A search that ended since run after run failed says so beside what it had found.
func TestStopped(t *testing.T) {
	r := result()
	r.Stopped = "no schedule can be run: the last 9 runs failed: no answer of <b>redis</b>"
	var text bytes.Buffer
	if err := Summary(&text, r, "dir"); err != nil {
		t.Fatal(err)
	}
	if want := "\nended early:   " + r.Stopped + "\n"; !strings.Contains(text.String(), want) {
		t.Errorf("%s\nwant %q", text.String(), want)
	}
	if page, want := render(t, r), "<h2>Ended early</h2><p>"+template.HTMLEscapeString(r.Stopped)+"</p>"; !strings.Contains(page, want) {
		t.Errorf("a page without %q", want)
	}
}

// What is not the least, and what there was no time for, is said to be so.
func TestUnfinished(t *testing.T) {
	r := result()
	r.Counterexamples[1].Larger, r.Unfinished = "the time was over", []string{"1 of 2 counterexamples may not be the least"}
	var text, page bytes.Buffer
	if err := errors.Join(Summary(&text, r, "dir"), HTML(&page, r, "dir")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"may not be minimal: the time was over\n", "unfinished:    1 of 2 counterexamples may not be the least (a longer --finish does the rest)\n"} {
		if strings.Count(text.String(), want) != 1 {
			t.Errorf("the summary does not say %q once:\n%s", want, text.String())
		}
	}
	for _, want := range []string{"It may not be minimal: the time was over.", "<li>1 of 2 counterexamples may not be the least</li>"} {
		if strings.Count(page.String(), want) != 1 {
			t.Errorf("the page does not say %q once", want)
		}
	}
}

// What was found is a test of the lock once it is mended: for its own anomalies only.
func TestAsTest(t *testing.T) {
	r := result()
	for i, want := range []string{" --forbid granted-early --count 20", " --forbid stale-write --count 20"} {
		if got := AsTest(r, r.Counterexamples[i], "dir"); got != Replay(r, r.Counterexamples[i], "dir")+want {
			t.Errorf("%s: %s", r.Counterexamples[i].Name, got)
		}
	}
	var text, page bytes.Buffer
	if err := errors.Join(Summary(&text, r, "dir"), HTML(&page, r, "dir")); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*bytes.Buffer{"summary": &text, "page": &page} {
		if n := strings.Count(b.String(), "--forbid granted-early"); n != 1 {
			t.Errorf("the %s has the command %d times", name, n)
		}
	}
	r.Replay = "go test -run {name}"
	if got := AsTest(r, r.Counterexamples[0], "dir"); got != "" {
		t.Errorf("what no command runs: %s", got)
	}
}

func TestJUnit(t *testing.T) {
	read := func(r *hunt.Result) results.JUnitSuite {
		var b bytes.Buffer
		if err := JUnit(&b, r, "dir"); err != nil {
			t.Fatal(err)
		}
		var s results.JUnitSuite
		if err := xml.Unmarshal(b.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := read(result())
	if s.Tests != 4 || s.Failures != 2 || s.Skipped != 0 {
		t.Errorf("%+v", s)
	}
	for _, c := range s.Cases {
		want := map[string]string{"exclusion": "lock bug: overlapping leases (granted-early) — by a pause of a client", "register": "lease hazard: stale write after the lease has ended (stale-write) — no fault injected"}[c.Name]
		if (c.Failure != nil) != (want != "") || want != "" && c.Failure.Message != want {
			t.Errorf("%s: %+v", c.Name, c.Failure)
		}
	}
	if s := read(clean()); s.Failures != 0 || s.Skipped != 0 || s.Tests != 4 {
		t.Errorf("a hunt that found nothing: %+v", s)
	}
	discarded := clean()
	discarded.CutShort = true
	if s := read(discarded); s.Skipped != 4 {
		t.Errorf("a hunt that was cut short: %+v", s)
	}
	read(hostile())
}

// What is written can be read, and everything is there.
func TestWrite(t *testing.T) {
	d, err := Open(filepath.Join(t.TempDir(), "hunt"), "", "redis")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r := result()
	if err := d.Write(r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{ResultFile, PageFile, JUnitFile, d.CounterexampleFile(r.Counterexamples[0])} {
		if _, err := os.Stat(filepath.Join(d.Path(), name)); err != nil {
			t.Error(err)
		}
	}
	again, err := readResult(d.Path())
	if err != nil || len(again.Counterexamples) != 2 || again.Counterexamples[0].Evidence == nil || len(again.Counterexamples[0].Evidence.Events) != 6 {
		t.Errorf("%+v, %v", again, err)
	}
	var b bytes.Buffer
	if err := Summary(&b, again, d.Path()); err != nil || !strings.Contains(b.String(), "20 of 20 alone") {
		t.Errorf("%s, %v", b.String(), err)
	}
	if strings.Contains(b.String(), "delay=1s") {
		t.Errorf("a remedy of which no run counts is told of:\n%s", b.String())
	}
}

// readResult reads a hunt's result as another program would.
func readResult(path string) (*hunt.Result, error) {
	b, err := os.ReadFile(filepath.Join(path, ResultFile))
	if err != nil {
		return nil, err
	}
	var r hunt.Result
	return &r, json.Unmarshal(b, &r)
}

// A folder in which nothing was run goes; one that a hunt goes on in stays.
func TestEmptyFolderGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hunt")
	for _, resume := range []bool{false, true} {
		out, from := path, ""
		if resume {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(path, RunsFile), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			out, from = "", path
		}
		d, err := Open(out, from, "redis")
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); (err == nil) != resume {
			t.Errorf("resumed %v: the folder: %v", resume, err)
		}
	}
}

// A coverage that does not add up is not written.
func TestCoverageThatDoesNotAddUp(t *testing.T) {
	r := clean()
	r.Depths[1].Ran++
	if err := WriteTo(t.TempDir(), r); err == nil || !strings.Contains(err.Error(), "does not add up") {
		t.Errorf("%v", err)
	}
}
