package docs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/picklock/picklock/compose"
)

// TestLogins: whoever writes a program for a cluster of picklock finds how to connect to it. A variant of a cluster begins
// with its name.
func TestLogins(t *testing.T) {
	text, err := os.ReadFile("guides/your-lock.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rows, ok := strings.Cut(string(text), "| cluster | how to connect |\n")
	if !ok {
		t.Fatal("the table has another head")
	}
	rows, _, _ = strings.Cut(rows, "\n\n")
	for _, name := range compose.Names() {
		base, _, _ := strings.Cut(name, "-")
		if !strings.Contains(rows, "`"+name+"`") && !strings.Contains(rows, "`"+base+"`") {
			t.Errorf("docs/guides/your-lock.md does not say how a program connects to %s", name)
		}
	}
}
