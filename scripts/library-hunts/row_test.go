package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/hunt"
	huntreport "github.com/picklock/picklock/hunt/report"
)

// schedule is one with these faults.
func schedule(faults ...string) string {
	text := "name: schedule\nabout: x\nlocks: [redis]\nfencing: [none]\nttl: 250ms\nclients:\n  A: acquire, read, write, release\n"
	if len(faults) > 0 {
		text += "faults:\n"
	}
	for _, f := range faults {
		text += "  - " + f + "\n    when: before A's write\n    until: 3 leases\n"
	}
	return text
}

func TestHazardsOfASchedule(t *testing.T) {
	for fault, want := range map[string]string{
		"":                             noFault,
		"pause: A":                     "client stopped",
		"kill: A":                      "client stopped",
		"hold: A to register":          "delayed write",
		"hold: servers to A":           "messages late or lost",
		"cut: A from servers":          "messages late or lost",
		"clock: A +750ms":              "client's clock wrong",
		"clock: redis +750ms":          serverClock,
		"pause: redis":                 "servers fail",
		"kill: redis":                  "servers fail",
		"kill: A, pause: redis":        "client stopped,servers fail",
		"kill: A, hold: A to register": "client stopped,delayed write",
	} {
		var faults []string
		if fault != "" {
			faults = strings.Split(fault, ", ")
		}
		got, err := hazardsOf(schedule(faults...))
		if err != nil {
			t.Errorf("%s: %v", fault, err)
		} else if strings.Join(got, ",") != want {
			t.Errorf("%s is in the columns %q, want %q", fault, got, want)
		}
	}
}

// bug is a counterexample of a lock bug, seen in so many runs of so many.
func bug(hits, runs int, faults ...string) *hunt.Counterexample {
	return &hunt.Counterexample{Signature: hunt.Signature{Anomaly: "wrong-release"}, Schedule: schedule(faults...), Alone: hunt.Rate{Hits: hits, Runs: runs}}
}

// A row of a table of one hunt's folder, with the schedules that were run.
func rowOf(t *testing.T, r hunt.Result, ran ...hunt.Ran) string {
	t.Helper()
	folder := t.TempDir()
	text, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, huntreport.ResultFile), text, 0o644)
	}
	var lines bytes.Buffer
	for _, one := range ran {
		if err == nil {
			err = json.NewEncoder(&lines).Encode(one)
		}
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, huntreport.RunsFile), lines.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	lock := clients.Info{Name: "mine", Cluster: "redis", Library: &clients.Library{Name: "lib", Version: "1.0", Language: "Go", Promises: []string{"https://a.example"}}}
	read, err := read(lock, folder)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := print(&out, []row{read}); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(out.String()), "\n")
	return rows[len(rows)-1]
}

func TestRowOfAHunt(t *testing.T) {
	plain, paused := hunt.Ran{Schedule: schedule()}, hunt.Ran{Schedule: schedule("pause: A")}
	discarded := hunt.Ran{Schedule: schedule("kill: redis"), Discarded: "too busy"}
	proved := hunt.Result{Runs: 2, Granted: 2}
	found := func(all ...*hunt.Counterexample) hunt.Result {
		r := proved
		r.Counterexamples = all
		return r
	}
	hazard := &hunt.Counterexample{Signature: hunt.Signature{Anomaly: "stale-write", Cause: "lease-outlived"}, Schedule: schedule("pause: A")}
	variant := bug(20, 20, "pause: A")
	variant.Variants = []*hunt.Counterexample{bug(9, 10, "clock: A +750ms")}
	few := bug(2, 2)
	few.Search = hunt.Rate{Hits: 3, Runs: 3}
	const head = "| `mine` | lib 1.0 | Go | redis | [1](https://a.example) | "
	for name, x := range map[string]struct {
		result hunt.Result
		ran    []hunt.Ran
		want   string
	}{
		"nothing":                                  {proved, []hunt.Ran{plain, paused}, "PASS | 2 | none in 1 | none in 1 | – | – | – | – | – |"},
		"a schedule that ran twice counts once":    {proved, []hunt.Ran{plain, paused, paused}, "PASS | 2 | none in 1 | none in 1 | – | – | – | – | – |"},
		"what was discarded does not count":        {proved, []hunt.Ran{plain, discarded}, "PASS | 1 | none in 1 | – | – | – | – | – | – |"},
		"a hunt that was cut short proves nothing": {hunt.Result{Runs: 2, Granted: 2, CutShort: true}, []hunt.Ran{plain}, "UNKNOWN: the hunt was interrupted | 1 | none in 1 | – | – | – | – | – | – |"},
		"a bug":                {found(bug(18, 20)), []hunt.Ran{plain}, "FAIL: 1 lock bug, 0 lease hazards (1 by the library) | 1 | lock bug: wrong-release, 18 of 20 | – | – | – | – | – | – |"},
		"a hazard is no bug":   {found(hazard), []hunt.Ran{plain, paused}, "FAIL: 0 lock bugs, 1 lease hazard | 2 | none in 1 | hazard | – | – | – | – | – |"},
		"a bug that came once": {found(bug(1, 2)), []hunt.Ran{plain}, "FAIL: 1 lock bug, 0 lease hazards (1 unconfirmed) | 1 | unconfirmed: wrong-release, 1 of 2 | – | – | – | – | – | – |"},
		"a bug in one column hides a hazard there":                 {found(hazard, bug(20, 20, "pause: A")), []hunt.Ran{plain, paused}, "FAIL: 1 lock bug, 1 lease hazard (1 by the library) | 2 | none in 1 | lock bug: wrong-release, 20 of 20 | – | – | – | – | – |"},
		"a bug by the server's clock, and a holder that stops":     {found(bug(20, 20, "clock: redis +30s", "kill: A")), []hunt.Ran{plain}, "FAIL: 1 lock bug, 0 lease hazards (1 by the server's clock) | 1 | none in 1 | lock bug: wrong-release, 20 of 20, with a fault of another column | – | – | – | lock bug: wrong-release, 20 of 20, with a fault of another column | – |"},
		"a bug by the server's clock, and lost messages":           {found(bug(20, 20, "clock: redis +30s", "cut: A from servers")), []hunt.Ran{plain}, "FAIL: 1 lock bug, 0 lease hazards (1 by the library) | 1 | none in 1 | – | – | lock bug: wrong-release, 20 of 20, with a fault of another column | – | lock bug: wrong-release, 20 of 20, with a fault of another column | – |"},
		"a bug by the server's clock alone is not the library's":   {found(bug(20, 20, "clock: redis +750ms")), []hunt.Ran{plain}, "FAIL: 1 lock bug, 0 lease hazards (1 by the server's clock) | 1 | none in 1 | – | – | – | – | lock bug: wrong-release, 20 of 20 | – |"},
		"a bug that needs a client's wrong clock is counted apart": {found(bug(20, 20, "clock: A +750ms")), []hunt.Ran{plain}, "FAIL: 1 lock bug, 0 lease hazards (1 by a client's clock) | 1 | none in 1 | – | – | – | lock bug: wrong-release, 20 of 20 | – | – |"},
		"one of each kind adds up to the verdict": {
			found(bug(20, 20, "pause: A"), bug(20, 20, "kill: redis"), bug(20, 20, "clock: A +750ms"), bug(1, 6, "clock: redis +750ms"), bug(1, 2), hazard), []hunt.Ran{plain, paused},
			"FAIL: 5 lock bugs, 1 lease hazard (1 by the library, 1 when servers fail, 1 by a client's clock, 1 by the server's clock, 1 unconfirmed) | 2 | unconfirmed: wrong-release, 1 of 2 | lock bug: wrong-release, 20 of 20 | – | – | lock bug: wrong-release, 20 of 20 | unconfirmed: wrong-release, 1 of 6 | lock bug: wrong-release, 20 of 20 |",
		},
		"hazards of a hunt that was cut short": {
			hunt.Result{Runs: 2, Granted: 2, CutShort: true, Counterexamples: []*hunt.Counterexample{hazard}}, []hunt.Ran{paused},
			"FAIL: 0 lock bugs, 1 lease hazard; undecided whether it has lock bugs: the hunt was interrupted | 1 | – | hazard | – | – | – | – | – |",
		},
		"few runs alone count with those beside others": {found(few), []hunt.Ran{plain}, "FAIL: 1 lock bug, 0 lease hazards (1 by the library) | 1 | lock bug: wrong-release, 5 of 5 | – | – | – | – | – | – |"},
		"a variant is the same bug in other faults":     {found(variant), []hunt.Ran{plain}, "FAIL: 1 lock bug, 0 lease hazards (1 by the library) | 1 | none in 1 | lock bug: wrong-release, 20 of 20 | – | – | lock bug: wrong-release, 9 of 10 | – | – |"},
	} {
		if got := rowOf(t, x.result, x.ran...); got != head+x.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, head+x.want)
		}
	}
}

// A lock without a hunt has no row, and is named.
func TestALockThatWasNotHuntedIsNamed(t *testing.T) {
	var out bytes.Buffer
	if err := print(&out, []row{{lock: clients.Info{Name: "mine"}}}); err != nil {
		t.Fatal(err)
	}
	if want := "Not hunted: `mine`.\n"; !strings.HasSuffix(out.String(), want) || strings.Contains(out.String(), "| `mine`") {
		t.Errorf("printed\n%s\nwant no row, and %q", &out, want)
	}
}

func TestAnUnknownLockIsRefused(t *testing.T) {
	if _, err := choose([]clients.Info{{Name: "mine"}}, []string{"other"}); err == nil || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("an unknown lock: %v, want an error that names it", err)
	}
}

// The table replaces what is below the marker, and nothing above it; a page without the marker is not touched.
func TestPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("above\n" + marker + "\nold\n")
	if err := put(page, []row{{lock: clients.Info{Name: "mine"}}}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(got); !strings.HasPrefix(text, "above\n"+marker+"\n\n| lock |") || strings.Contains(text, "old") {
		t.Errorf("the page is\n%s", text)
	}
	kept := "| `mine` | lib 1.0 | Go | of an earlier hunt |"
	write("above\n" + marker + "\n| `mine2` | x |\n" + kept + "\n| `gone` | x |\n")
	if err := put(page, []row{{lock: clients.Info{Name: "mine"}}, {lock: clients.Info{Name: "other"}}}); err != nil {
		t.Fatal(err)
	}
	got, err = os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(got); !strings.Contains(text, "\n"+kept+"\n") || strings.Contains(text, "mine2") || strings.Contains(text, "gone") || !strings.HasSuffix(text, "Not hunted: `other`.\n") {
		t.Errorf("the page with a row of an earlier hunt is\n%s", text)
	}
	write("no marker\n")
	if err := put(page, nil); err == nil || !strings.Contains(err.Error(), "has lost its line") {
		t.Errorf("a page without a marker: %v, want an error that says so", err)
	}
}
