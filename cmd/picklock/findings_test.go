package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
)

// TestFindingsAreProved: each history that docs/findings.md names is there and still
// proves an anomaly, and there is none that it does not name.
func TestFindingsAreProved(t *testing.T) {
	page, err := os.ReadFile("../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../docs/findings/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if !strings.Contains(string(page), "findings/"+name) {
			t.Errorf("docs/findings.md does not name %s", name)
		}
		v, err := checker.CheckFiles(t.Context(), file, "", checker.Options{}, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		var found []string
		for _, a := range v.Anomalies {
			found = append(found, a.Name)
		}
		t.Logf("%s: %v", name, found)
		if len(found) == 0 {
			t.Errorf("%s proves nothing any more", name)
		}
	}
	for _, part := range strings.Split(string(page), "(findings/")[1:] {
		name, _, _ := strings.Cut(part, ")")
		if _, err := os.Stat(filepath.Join("../../docs/findings", name)); err != nil {
			t.Error(err)
		}
	}
}
