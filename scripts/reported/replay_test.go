package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/hunt"
	huntreport "github.com/picklock/picklock/hunt/report"
)

// hunted writes what a hunt of a version found, as if it had been made.
func hunted(t *testing.T, folder, name string, found ...*hunt.Counterexample) {
	t.Helper()
	dir := filepath.Join(folder, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeJSON(filepath.Join(dir, huntreport.ResultFile), hunt.Result{Counterexamples: found}); err != nil {
		t.Fatal(err)
	}
}

// TestReplayThatFails: if a counterexample cannot be replayed, the next one may show the bug. If none does, nothing is
// said of the bug.
func TestReplayThatFails(t *testing.T) {
	for _, tt := range []struct {
		name, second string // what the program does with the second
		found, fails bool
	}{
		{"the next one shows it", `echo '{"alone": {"runs": 20, "causes": {}}}'`, true, false},
		{"the next one comes in the fixed version, too", `echo '{"alone": {"runs": 20, "causes": {"granted-early": 20}}}'`, false, true},
		{"the next one fails, too", "exit 254", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := runner{program: filepath.Join(t.TempDir(), "picklock"), out: t.TempDir(), replays: 20, kinds: map[string]kind{"k": {Anomalies: []string{"granted-early"}}}}
			script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n*/first.yaml*) echo no such server >&2; exit 254 ;;\n*/second.yaml*) %s ;;\nesac\n", tt.second)
			if err := os.WriteFile(r.program, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			b := bug{ID: "X1", Lock: "mine", Broken: "1", Fixed: "2", Kind: "k"}
			folder := filepath.Join(r.out, b.ID)
			early := func(name string) *hunt.Counterexample {
				return &hunt.Counterexample{Name: name, Signature: hunt.Signature{Anomaly: "granted-early", Cause: "granted-early"}, Alone: hunt.Rate{Hits: 20, Runs: 20}}
			}
			hunted(t, folder, "broken", early("first"), early("second"))
			hunted(t, folder, "fixed")
			rec, err := r.do(t.Context(), b, false)
			if (err != nil) != tt.fails || tt.fails && !strings.Contains(err.Error(), "replay first: ") || (rec.Found != nil) != tt.found {
				t.Fatalf("%+v, %v", rec, err)
			}
			if tt.found && rec.Found.Name != "second" {
				t.Errorf("found by %s", rec.Found.Name)
			}
			if _, err := os.Stat(filepath.Join(folder, recordFile)); (err == nil) == tt.fails {
				t.Errorf("recorded as done: %v", err == nil)
			}
		})
	}
}

// A hunt that ended early has not searched for its time: that it found nothing says nothing.
func TestReadHunt(t *testing.T) {
	for name, c := range map[string]struct {
		result hunt.Result
		whole  bool
	}{"whole": {hunt.Result{Runs: 9}, true}, "interrupted": {hunt.Result{Runs: 9, CutShort: true}, false}, "ended early": {hunt.Result{Runs: 9, Stopped: "run after run failed"}, false}} {
		dir := t.TempDir()
		if err := writeJSON(filepath.Join(dir, huntreport.ResultFile), c.result); err != nil {
			t.Fatal(err)
		}
		if _, err := readHunt(dir); (err == nil) != c.whole {
			t.Errorf("%s: %v", name, err)
		}
	}
}
