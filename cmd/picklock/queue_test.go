package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestQueueToken(t *testing.T) {
	dir := t.TempDir()
	full, blank := filepath.Join(dir, "full"), filepath.Join(dir, "blank")
	for name, text := range map[string]string{full: "s3cret\n", blank: "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ token, file, want, err string }{
		{"", "", "", ""},
		{"direct", "", "direct", ""},
		{"", full, "s3cret", ""},
		{"direct", full, "", "both set"},
		{"", blank, "", "is empty"},
		{"", filepath.Join(dir, "nowhere"), "", tokenFileVariable},
	} {
		t.Setenv(tokenVariable, c.token)
		t.Setenv(tokenFileVariable, c.file)
		got, err := queueToken()
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("token %q, file %q: %q, %v; want %q, %q", c.token, c.file, got, err, c.want, c.err)
		}
	}
}
