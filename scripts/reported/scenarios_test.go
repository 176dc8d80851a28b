package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/scenarios"
)

// A scenario that was written by hand is named by its bug, expects something in the broken version, and
// nothing in the fixed one.
func TestScenariosByHand(t *testing.T) {
	files, err := filepath.Glob("scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("scenarios: %v, %v; want some", files, err)
	}
	all := benchmark(t).Bugs
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".yaml")
		i := slices.IndexFunc(all, func(b bug) bool { return b.ID == id })
		if i < 0 {
			t.Errorf("%s: there is no bug %s", file, id)
			continue
		}
		s := parsed(t, file)
		broken, fixed := all[i].at(all[i].Broken), all[i].at(all[i].Fixed)
		if all[i].Cluster != "" { // the lock is the same in both, and the file has what is expected of the broken servers
			if e := s.Expected(all[i].Lock, "none"); s.Cluster != broken || e == nil || len(e.Must) == 0 {
				t.Errorf("%s: expects nothing of %s on %s", file, all[i].Lock, broken)
			}
			continue
		}
		if e := s.Expected(broken, "none"); e == nil || len(e.Must) == 0 {
			t.Errorf("%s: expects nothing of %s", file, broken)
		}
		if e := s.Expected(fixed, "none"); e == nil || len(e.Must) > 0 || len(e.May) > 0 {
			t.Errorf("%s: does not expect %s to be sound", file, fixed)
		}
	}
}

func parsed(t *testing.T, file string) *scenarios.Scenario {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenarios.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
