package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
)

// TestFindingsAreProved: each history in docs/findings is linked from a page there, and
// still proves an anomaly. Whether the links lead to files, docs/links_test.go looks.
func TestFindingsAreProved(t *testing.T) {
	pages, err := filepath.Glob("../../docs/findings/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	var text strings.Builder
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	files, err := filepath.Glob("../../docs/findings/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if !strings.Contains(text.String(), "("+name+")") {
			t.Errorf("no page in docs/findings links to %s", name)
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
}
