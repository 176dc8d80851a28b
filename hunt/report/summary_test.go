package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/hunt"
	"github.com/picklock/picklock/scenarios"
)

// That nothing broke where the fault did not come to strike is no help.
func TestHelp(t *testing.T) {
	for _, tt := range []struct {
		rate    hunt.Rate
		summary string
		page    string
	}{
		{hunt.Rate{Runs: 10}, "X prevents it (0 of 10)", "X: prevents it (0 of 10)"},
		{hunt.Rate{Runs: 10, Missed: 4}, "X prevents it (0 of 10, in 4 of which its fault was not triggered)", "X: prevents it (0 of 10, in 4 of which its fault was not triggered)"},
		{hunt.Rate{Runs: 2}, "X prevents it (0 of 2)", "X: prevents it (0 of 2)"}, // it comes 20 times of 20
		{hunt.Rate{Runs: 1}, "X may prevent it: too few runs (0 of 1)", "X: may prevent it: too few runs (0 of 1)"},
		{hunt.Rate{Runs: 10, Missed: 10}, "", "X: its fault was triggered in none of 10 runs"},
		{hunt.Rate{Hits: 1, Runs: 10, Missed: 9}, "X does not prevent it (1 of 10)", "X: does not prevent it (1 of 10)"},
	} {
		r := result()
		w := r.Counterexamples[0]
		w.Mitigations = []hunt.Mitigation{{Name: "X", Rate: tt.rate}}
		if got := strings.Join(mitigationWords(w), "; "); got != tt.summary {
			t.Errorf("%+v: %q, want %q", tt.rate, got, tt.summary)
		}
		v := view(r, w, 1, "")
		if len(v.Mitigations) != 1 || v.Mitigations[0].Text != tt.page || (len(v.Help) == 1) != tt.rate.Helps(w.Alone) {
			t.Errorf("%+v: %+v, helps %q, want %q", tt.rate, v.Mitigations, v.Help, tt.page)
		}
	}
}

// What runs a counterexample again can be something else than the command line.
func TestReplay(t *testing.T) {
	r := result()
	r.Replay = "run(" + hunt.CounterexampleName + ", " + hunt.CounterexampleFile + ")"
	var b bytes.Buffer
	if err := Summary(&b, r, "dir"); err != nil || !strings.Contains(b.String(), "replay:      run(counterexample-1-granted-early, dir/counterexamples/counterexample-1-granted-early.yaml)\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// What the scenario's file does not have, its command has.
func TestReplayOnTheSameLock(t *testing.T) {
	r := result()
	r.Command = []string{"picklock", "hunt", "--lock", "exec:x", "--ability", "confirms=yes", "--ability", "lease=no", "--find", "deadlock", "--runtime", "docker", "--client-image", "mine:1", "--seed", "1"}
	want := " --fencing none --ability confirms=yes --ability lease=no --runtime docker --client-image mine:1"
	if got := Replay(r, r.Counterexamples[0], "dir"); !strings.HasSuffix(got, want) {
		t.Errorf("%s, want ...%s", got, want)
	}
	if got := AsTest(r, r.Counterexamples[0], "dir"); !strings.Contains(got, want+" --forbid") {
		t.Errorf("%s, want ...%s", got, want)
	}
}

// What a shard's file holds steers no terminal.
func TestSummaryIsClean(t *testing.T) {
	r := result()
	r.Counterexamples[0].Explanation = "evil\x1b[2J\x1b]0;name\a"
	var b bytes.Buffer
	if err := Summary(&b, r, "dir"); err != nil || strings.ContainsAny(b.String(), "\x1b\a") || !strings.Contains(b.String(), "evil") {
		t.Errorf("%v\n%q", err, b.String())
	}
}

// The rate is that of the search: what follows it took no part of its time.
func TestRuns(t *testing.T) {
	r := result()
	r.Searched, r.CPU = 60, 30
	if got := strings.Join(covered(r), "\n"); !strings.Contains(got, "1.0 runs a second, 0.50 s of processor time each") {
		t.Error(got)
	}
}

// TestCauseWords: a fault is a counterexample's cause for certain only where the counterexample was run without
// it and did not come.
func TestCauseWords(t *testing.T) {
	for _, c := range []struct {
		name    string
		faults  int
		without []hunt.Mitigation
		want    string
	}{
		{"none", 0, nil, "no fault injected"},
		{"no time", 1, nil, "probably a pause of a client: there were no runs without"},
		{"needed", 1, []hunt.Mitigation{{Name: "pause: A", Rate: hunt.Rate{Runs: 10}}}, "confirmed: pause: A (without it: 0 of 10)"},
		{"too few", 1, []hunt.Mitigation{{Name: "pause: A", Rate: hunt.Rate{Runs: 1}}}, "probably pause: A: too few runs without it (0 of 1)"},
		{"never came to it", 1, []hunt.Mitigation{{Name: "pause: A", Rate: hunt.Rate{Runs: 10, Missed: 10}}}, "probably pause: A: no run without it proves anything"},
		{"a bystander", 1, []hunt.Mitigation{{Name: "pause: A", Rate: hunt.Rate{Hits: 9, Runs: 10}}}, "not pause: A: the lock breaks without it, too (9 of 10)"},
		{"a clock", 1, []hunt.Mitigation{{Name: "clock: A +1s", Instead: "clock: A +1µs", Rate: hunt.Rate{Hits: 9, Runs: 10}}}, "not clock: A +1s: the lock breaks with clock: A +1µs in its place, too (9 of 10)"},
		{"a helper", 1, []hunt.Mitigation{{Name: "pause: A", Rate: hunt.Rate{Hits: 2, Runs: 10}}}, "pause: A makes it more likely (without it: 2 of 10)"},
	} {
		w := &hunt.Counterexample{Signature: hunt.Signature{Kinds: []string{"a pause of a client"}}, Faults: c.faults, Alone: hunt.Rate{Hits: 20, Runs: 20}, Without: c.without}
		if got := strings.Join(causeWords(w), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestHeadingOfALateWrite: a write that comes when its client has released the lock is not said to come after the lease.
func TestHeadingOfALateWrite(t *testing.T) {
	for cause, want := range map[string]string{
		"after-release":  "stale write after its client has released the lock (stale-write) — no fault injected",
		"lease-outlived": "stale write after the lease has ended (stale-write) — no fault injected",
	} {
		w := &hunt.Counterexample{Signature: hunt.Signature{Anomaly: "stale-write", Cause: hunt.AfterLease}, Anomalies: []string{"stale-write"},
			Evidence: &hunt.Evidence{Anomaly: verdict.Anomaly{Name: "stale-write", Cause: cause}}, Alone: hunt.Rate{Hits: 20, Runs: 20}}
		if got := heading(w); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", cause, got, want)
		}
	}
}

// TestCauseOfWhatComesSeldom: what comes too seldom to be run without its fault is not said to come by it.
func TestCauseOfWhatComesSeldom(t *testing.T) {
	of := func(hits int, faultless hunt.Rate) *hunt.Counterexample {
		return &hunt.Counterexample{
			Signature: hunt.Signature{Anomaly: "granted-early", Kinds: []string{"a wrong clock of a client"}}, Faults: 1, Alone: hunt.Rate{Hits: hits, Runs: 20}, Faultless: faultless,
			Evidence: &hunt.Evidence{Anomaly: verdict.Anomaly{Name: "granted-early", Cause: "granted-early", Faults: []string{"clock"}, Suspect: &verdict.Suspect{Fault: "clock", On: verdict.OnClient, Nodes: []string{"A"}}}},
		}
	}
	for _, c := range []struct {
		name                   string
		w                      *hunt.Counterexample
		heading, because, says string
	}{
		{"often", of(20, hunt.Rate{}), "by a wrong clock of a client", "probably a wrong clock of a client: there were no runs without", "counted by a client's clock"},
		{"seldom", of(2, hunt.Rate{}), "in runs with a wrong clock of a client", "perhaps a wrong clock of a client: it comes too seldom to tell, and there were no runs without", "gave the lock away while another client's lease had time left"},
		{"seldom, and not without", of(2, hunt.Rate{Runs: 40}), "in runs with a wrong clock of a client", "perhaps a wrong clock of a client: it comes too seldom to tell, and its program broke in 0 of 40 runs without any fault", "gave the lock away while another client's lease had time left"},
	} {
		says, _ := advice(c.w)
		if got := strings.Join(causeWords(c.w), "; "); got != c.because || !strings.HasSuffix(heading(c.w), " — "+c.heading) || len(says) != 1 || !strings.Contains(says[0], c.says) {
			t.Errorf("%s: %q: %q: %q", c.name, heading(c.w), says, got)
		}
	}
}

// If the record shows no part of a fault in what broke, and nothing was run without it, neither the heading nor the cause says that it
// did it. Nor do they if the lock breaks without it as often.
func TestUnseenFault(t *testing.T) {
	for _, c := range []struct {
		name             string
		anomaly          verdict.Anomaly
		without          []hunt.Mitigation
		heading, because string
	}{
		{"no part", verdict.Anomaly{Bystanders: []string{"pause"}}, nil, "in runs with a pause of a client", "perhaps a pause of a client: its record shows no part of that in it, and there were no runs without"},
		{"a part", verdict.Anomaly{Faults: []string{"pause"}}, nil, "by a pause of a client", "probably a pause of a client: there were no runs without"},
		{"needed", verdict.Anomaly{Bystanders: []string{"pause"}}, []hunt.Mitigation{{Name: "pause: A", Rate: hunt.Rate{Runs: 10}}}, "by a pause of a client", "confirmed: pause: A (without it: 0 of 10)"},
		{"as often without", verdict.Anomaly{Faults: []string{"pause"}}, []hunt.Mitigation{{Name: "pause: A", Rate: hunt.Rate{Hits: 9, Runs: 10}}}, "with and without a pause of a client", "not pause: A: the lock breaks without it, too (9 of 10)"},
		{"seldom without", verdict.Anomaly{Faults: []string{"pause"}}, []hunt.Mitigation{{Name: "pause: A", Rate: hunt.Rate{Hits: 2, Runs: 10}}}, "by a pause of a client", "pause: A makes it more likely (without it: 2 of 10)"},
	} {
		w := &hunt.Counterexample{Signature: hunt.Signature{Anomaly: "deadlock", Kinds: []string{"a pause of a client"}}, Faults: 1, Alone: hunt.Rate{Hits: 20, Runs: 20}, Without: c.without, Evidence: &hunt.Evidence{Anomaly: c.anomaly}}
		if got := strings.Join(causeWords(w), "; "); got != c.because {
			t.Errorf("%s: %q, want %q", c.name, got, c.because)
		}
		if got := heading(w); !strings.HasSuffix(got, " — "+c.heading) {
			t.Errorf("%s: %q, want %q", c.name, got, c.heading)
		}
	}
}

// The summary and the page say what broke and what prevents it, by what the history suspects unless the runs
// without that fault refute it; and nothing of what never came again.
func TestAdvice(t *testing.T) {
	bystander := []hunt.Mitigation{{Name: "pause: A", Rate: hunt.Rate{Hits: 10, Runs: 10}}}
	for _, c := range []struct {
		name    string
		alone   hunt.Rate
		without []hunt.Mitigation
		want    string // of the cause; "" for no advice
	}{
		{"suspected", hunt.Rate{Hits: 20, Runs: 20}, nil, "the lease ended while its holder was stopped"},
		{"needed", hunt.Rate{Hits: 20, Runs: 20}, []hunt.Mitigation{{Name: "pause: A", Rate: hunt.Rate{Runs: 10}}}, "the lease ended while its holder was stopped"},
		{"refuted", hunt.Rate{Hits: 20, Runs: 20}, bystander, "the section was longer than the lease"},
		{"never again", hunt.Rate{Runs: 20}, nil, ""},
	} {
		r := result()
		w := r.Counterexamples[0]
		w.Search, w.Alone, w.Without = hunt.Rate{Hits: 1, Runs: 1}, c.alone, c.without
		w.Evidence = &hunt.Evidence{Anomaly: verdict.Anomaly{
			Name: "stale-write", Cause: "lease-outlived", Suspect: &verdict.Suspect{Fault: "pause", On: verdict.OnClient, Nodes: []string{"A"}},
		}}
		var text bytes.Buffer
		if err := Summary(&text, r, t.TempDir()); err != nil {
			t.Fatal(err)
		}
		for where, said := range map[string]string{"summary": text.String(), "page": render(t, r)} {
			if known := strings.Contains(said, "concepts/fencing.md"); known != (c.want != "") || !strings.Contains(said, c.want) {
				t.Errorf("%s: the %s does not say %q:\n%s", c.name, where, c.want, said)
			}
		}
	}
}

// TestCauseOfTheSearch: a counterexample's page gives the cause in its title, even if the last replay shows only a more general one.
func TestCauseOfTheSearch(t *testing.T) {
	for _, c := range []struct{ anomaly, cause, told, want string }{
		{"granted-early", "freed-more", "granted-early", "a release freed more of the lock"},
		{"granted-early", "granted-early", "granted-early", "the service gave the lock away"},
		{"granted-early", "late-release", "granted-early", "the service gave the lock away"},
	} {
		w := &hunt.Counterexample{
			Signature: hunt.Signature{Anomaly: c.anomaly, Cause: c.cause}, Search: hunt.Rate{Hits: 4, Runs: 4},
			Evidence: &hunt.Evidence{Anomaly: verdict.Anomaly{Name: c.anomaly, Cause: c.told}},
		}
		if says, _ := advice(w); len(says) != 1 || !strings.HasPrefix(says[0], c.want) {
			t.Errorf("%s, of which a replay tells %s: %q, want %q", c.cause, c.told, says, c.want)
		}
	}
}

// TestMayNotBeMinimal: what may not be the least is not said to take all of it.
func TestMayNotBeMinimal(t *testing.T) {
	r := result()
	r.Counterexamples[0].Larger = "the time was over"
	page := render(t, r)
	if strings.Contains(page, "Everything here is needed") || !strings.Contains(page, "Without any one of these it is reproduced less often") || !strings.Contains(page, "It may not be minimal: the time was over") {
		t.Error("the page says both that less may be enough and that it takes all")
	}
}

// A counterexample with another lease than the hunt's says which, on the page and in the terminal.
func TestOtherLeaseIsSaid(t *testing.T) {
	r := result()
	s, err := scenarios.Parse("s.yaml", []byte(r.Counterexamples[0].Schedule))
	if err != nil {
		t.Fatal(err)
	}
	for ttl, said := range map[time.Duration]bool{s.TTL: false, s.TTL + time.Second: true} {
		r.TTL = int64(ttl)
		var b strings.Builder
		if err := Summary(&b, r, "x"); err != nil {
			t.Fatal(err)
		}
		for where, text := range map[string]string{"terminal": b.String(), "page": render(t, r)} {
			if got := strings.Contains(text, fmt.Sprintf("lease: %v", s.TTL)); got != said {
				t.Errorf("hunt's lease %v, %s: said %v, want %v", ttl, where, got, said)
			}
		}
	}
}

// A hunt that covered a part says so in everything that is read of it, with the reasons.
func TestPartIsSaidEverywhere(t *testing.T) {
	dir := t.TempDir()
	r := clean()
	if err := WriteTo(dir, r); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := Summary(&text, r, dir); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{"terminal": text.String()}
	for _, file := range []string{ResultFile, PageFile, JUnitFile} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		said[file] = string(b)
	}
	for where, text := range said {
		if !strings.Contains(text, "PASS: no counterexample in 6 of 6 schedules without faults, 29 of 1491 with 1 fault") || strings.Contains(text, "with 1 fault ran (all)") {
			t.Errorf("%s does not say how much was covered:\n%s", where, text)
		}
	}
	for _, want := range []string{
		"6 of 6 schedules without faults ran (all)", "29 of 1491 schedules with 1 fault ran; 8 discarded, 1 failed to run, 10 infeasible, 1443 not reached",
		"8 discarded: A's 3rd message never came", "6 infeasible: no disks", "1 infeasible for 1 other reason (hunt.json)",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, text.String())
		}
	}
}

// A bug is one counterexample: the other schedules that show it stand under it, with files of their own.
func TestVariants(t *testing.T) {
	dir := t.TempDir()
	r := result()
	r.Counterexamples[0].Variants = []*hunt.Counterexample{{
		Signature: hunt.Signature{Anomaly: "granted-early", Kinds: []string{"one slow request"}}, Name: "counterexample-1-granted-early-variant-1",
		Schedule: schedule, Search: hunt.Rate{Hits: 4, Runs: 4},
	}, {
		Signature: hunt.Signature{Anomaly: "double-grant", Kinds: []string{"a pause of a client"}}, Name: "counterexample-1-granted-early-variant-2",
		Schedule: schedule, Search: hunt.Rate{Hits: 2, Runs: 4},
	}}
	var text bytes.Buffer
	if err := errors.Join(WriteTo(dir, r), Summary(&text, r, dir)); err != nil {
		t.Fatal(err)
	}
	const want = "one slow request: 4 of 4 (counterexamples/counterexample-1-granted-early-variant-1.yaml)"
	if !strings.Contains(text.String(), "  also by:     "+want+"\n") || !strings.Contains(render(t, r), "<li>"+want) || !strings.HasPrefix(r.Summary(), "FAIL: 1 lock bug, 1 lease hazard") {
		t.Errorf("%s", text.String())
	}
	if other := "               a pause of a client, as double-grant: 2 of 4 (counterexamples/counterexample-1-granted-early-variant-2.yaml)\n"; !strings.Contains(text.String(), other) {
		t.Errorf("no variant of another anomaly: %s", text.String())
	}
	if _, err := os.Stat(filepath.Join(dir, CounterexamplesFolder, "counterexample-1-granted-early-variant-1.yaml")); err != nil {
		t.Error(err)
	}
}

// What came once and never again is not blamed on the faults of that run alone.
func TestOnceIsNotBlamedOnItsFaults(t *testing.T) {
	r := result()
	w := r.Counterexamples[0]
	w.Search, w.Alone, w.Without, w.After = hunt.Rate{Hits: 1, Runs: 4}, hunt.Rate{Runs: 20}, nil, "a schedule with kill: B when before B's write"
	var text bytes.Buffer
	if err := Summary(&text, r, "dir"); err != nil {
		t.Fatal(err)
	}
	for said, of := range map[string]string{"the summary": text.String(), "the page": strings.ReplaceAll(render(t, r), "&#39;", "'")} {
		if !strings.Contains(of, "once, in a run with a pause of a client") || !strings.Contains(of, "unknown: it came in 1 of 24 runs of its schedule, after a schedule with kill: B when before B's write on the same servers and clients") ||
			strings.Contains(of, "probably a pause") {
			t.Errorf("%s:\n%s", said, of)
		}
	}
}

// What came once is explained where no fault can have had a part: none was near, or one step of the lock is wrong.
func TestOnceIsExplainedByItself(t *testing.T) {
	race := verdict.Anomaly{Name: "granted-early", Cause: "granted-early", Grants: []string{"A.1", "B.1"},
		Sizes: map[string]int64{"lease": 1000, "remaining": 999, "asked_before": 1}, Suspect: &verdict.Suspect{Fault: "pause", On: verdict.OnClient}}
	late := verdict.Anomaly{Name: "stale-write", Cause: "never-held", Grants: race.Grants, Suspect: race.Suspect}
	release := verdict.Anomaly{Name: "wrong-release", Grants: []string{"A.1", "B.1", "C.1"}, Suspect: race.Suspect}
	for _, c := range []struct {
		name   string
		a      verdict.Anomaly
		faults int
		after  string
		want   string
		not    string
	}{
		{"a race without a fault", race, 0, "a schedule without faults", "cause:       two clients were granted the lock at the same moment", "unknown"},
		{"a race on servers that had a fault before", race, 0, "a schedule with kill: B when before B's write", "cause:       unknown: it came in 1 of 24 runs of its schedule", "same moment"},
		{"a race under a fault", race, 1, "", "cause:       unknown: it came in 1 of 24 runs of its schedule", "same moment"},
		{"a wrong release under a fault", release, 1, "", "which fault has a part in it is unknown: it came in 1 of 24 runs of its schedule", "cause:       unknown"},
		{"a lease that was over before its client knew of it", late, 1, "", "cause:       the lease was over before the client learnt that it had it", "cause:       unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := result()
			w := r.Counterexamples[0]
			w.Search, w.Alone, w.Without, w.After, w.Faults = hunt.Rate{Hits: 1, Runs: 4}, hunt.Rate{Runs: 20}, nil, c.after, c.faults
			w.Anomaly, w.Cause, w.Evidence = c.a.Name, c.a.Cause, &hunt.Evidence{Anomaly: c.a}
			var text bytes.Buffer
			if err := Summary(&text, r, "dir"); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text.String(), c.want) || strings.Contains(text.String(), c.not) {
				t.Errorf("want %q and not %q:\n%s", c.want, c.not, text.String())
			}
		})
	}
}

// A reason is one line, however many faults the schedules have that share it; what is not shown is counted.
func TestUncovered(t *testing.T) {
	r := &hunt.Result{Uncovered: []hunt.Uncovered{
		{Faults: 1, What: "infeasible", Why: "a", Schedules: 1}, {Faults: 2, What: "infeasible", Why: "a", Schedules: 40},
		{Faults: 1, What: "infeasible", Why: "b", Schedules: 30}, {Faults: 1, What: "infeasible", Why: "c", Schedules: 20},
		{Faults: 1, What: "infeasible", Why: "d", Schedules: 2}, {Faults: 2, What: "infeasible", Why: "d", Schedules: 3},
		{Faults: 1, What: "discarded", Why: "a", Schedules: 7},
	}}
	want := []string{"7 discarded: a", "41 infeasible: a", "30 infeasible: b", "20 infeasible: c", "5 infeasible for 1 other reason (hunt.json)"}
	if got := uncovered(r); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Of many faults that had no part, a few are named.
func TestSome(t *testing.T) {
	for want, faults := range map[string][]string{
		"a":                    {"a"},
		"a, b, c and d":        {"a", "b", "c", "d"}, // one is no "others"
		"a, b, c and 2 others": {"a", "b", "c", "d", "e"},
	} {
		kept := slices.Clone(faults)
		if got := some(faults); got != want || !slices.Equal(faults, kept) {
			t.Errorf("%q, want %q; %q", got, want, faults)
		}
	}
}
