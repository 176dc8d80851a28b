package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
)

// TestHistoryExample: the example of docs/reference/history.md is a history, and says what the
// page says.
func TestHistoryExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/history.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```jsonl\n")
	text, _, _ = strings.Cut(text, "```")
	file := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := checker.CheckFiles(t.Context(), file, "", checker.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(v.Anomalies, func(a checker.Anomaly) bool { return a.Name == "two-holders" }) || len(v.Anomalies) != 1 {
		t.Errorf("anomalies %+v", v.Anomalies)
	}
	for _, p := range []string{checker.Exclusion, checker.Tokens} {
		if v.Properties[p].Valid != checker.True {
			t.Errorf("%s: %+v", p, v.Properties[p])
		}
	}
}
