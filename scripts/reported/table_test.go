package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/hunt"
)

// What is done is printed and counted, and what is not done is left out.
func TestTableOfWhatIsDone(t *testing.T) {
	out := t.TempDir()
	b := benchmark(t)
	first := b.Bugs[0]
	rec := record{ID: first.ID, Outcome: found, Tested: "5 of 9", Found: &try{Says: "stale-write by a pause", Seconds: 12, Faults: 1, Steps: 7, Broken: hunt.Rate{Hits: 9, Runs: 20}, Fixed: hunt.Rate{Runs: 20}}, Accused: []string{"deadlock"}}
	text, err := json.Marshal(rec)
	if err == nil {
		err = os.MkdirAll(filepath.Join(out, first.ID), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(out, first.ID, recordFile), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := runner{out: out, kinds: b.Kinds}
	var done []record
	for _, x := range b.Bugs[:2] { // nothing was done for the second
		rec, err := r.do(t.Context(), x, true)
		if err == nil {
			done = append(done, rec)
		} else if !errors.Is(err, errNotDone) {
			t.Fatal(err)
		}
	}
	var printed bytes.Buffer
	if err := r.report(&printed, done); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| found | 5 of 9 | 12 s | 1 fault, 7 steps | 9 of 20, 0 of 20 | stale-write by a pause |", "| 1: deadlock |", "1 bug: 1 found, 0 shown, 0 not found, 0 unavailable. Lock bugs named in fixed versions: 1."} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("printed\n%s\nwant %q", printed.String(), want)
		}
	}
	var again []record
	if err := readJSON(filepath.Join(out, "reported.json"), &again); err != nil || len(again) != 1 || again[0].Found == nil {
		t.Errorf("written: %+v, %v", again, err)
	}
}

// A bug is found if the fixed version does not break, and if that is no chance.
func TestShows(t *testing.T) {
	fixed, open := bug{Fixed: "2"}, bug{}
	rate := func(hits, runs int) hunt.Rate { return hunt.Rate{Hits: hits, Runs: runs} }
	for name, tc := range map[string]struct {
		b    bug
		t    try
		want bool
	}{
		"always":                 {fixed, try{Broken: rate(20, 20), Fixed: rate(0, 20)}, true},
		"5 of 20":                {fixed, try{Broken: rate(5, 20), Fixed: rate(0, 20)}, true},
		"4 of 20":                {fixed, try{Broken: rate(4, 20), Fixed: rate(0, 20)}, false},
		"fixed breaks":           {fixed, try{Broken: rate(20, 20), Fixed: rate(1, 20)}, false},
		"fixed was not run":      {fixed, try{Broken: rate(20, 20)}, false},
		"never":                  {fixed, try{Broken: rate(0, 20), Fixed: rate(0, 20)}, false},
		"no fixed version":       {open, try{Broken: rate(1, 20)}, true},
		"none, and it is leases": {open, try{Broken: rate(20, 20), Hazard: true}, false},
	} {
		if got := tc.t.shows(tc.b); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The counterexamples of a kind come lock bugs first, and without what any lease does.
func TestOfKind(t *testing.T) {
	of := func(anomaly, cause string) *hunt.Counterexample {
		return &hunt.Counterexample{Signature: hunt.Signature{Anomaly: anomaly, Cause: cause}}
	}
	late, never, early, hang := of("stale-write", hunt.AfterLease), of("stale-write", "never-held"), of("granted-early", "granted-early"), of("deadlock", "")
	early.Variants = []*hunt.Counterexample{of("wrong-release", "")}
	got := ofKind(&hunt.Result{Counterexamples: []*hunt.Counterexample{late, never, hang, early}}, benchmark(t).Kinds["two-holders"])
	if len(got) != 3 || got[0] != early || got[1] != early.Variants[0] || got[2] != never {
		t.Errorf("%v", got)
	}
}

// What was not discarded of the replays counts, however little it is.
func TestReplayOfWhichMuchWasDiscarded(t *testing.T) {
	program := filepath.Join(t.TempDir(), "picklock")
	script := "#!/bin/sh\necho too much was discarded >&2\necho '{\"alone\": {\"runs\": 3, \"discarded\": 21, \"causes\": {\"leak by a kill\": 1}}}'\nexit 2\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r := runner{program: program}
	rate, err := r.replay(t.Context(), bug{Lock: "k"}, "1.0.0", &hunt.Counterexample{}, t.TempDir(), 24)
	if err != nil || rate.Runs != 3 || rate.Discarded != 21 {
		t.Errorf("%+v, %v", rate, err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho no such lock >&2\nexit 254\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := r.replay(t.Context(), bug{Lock: "k"}, "1.0.0", &hunt.Counterexample{}, t.TempDir(), 24); err == nil || !strings.Contains(err.Error(), "no such lock") {
		t.Errorf("%v, want picklock's own words", err)
	}
}
