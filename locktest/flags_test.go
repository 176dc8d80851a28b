package locktest

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var greeting = flag.String("locktest-greeting", "", "")

// The processes of an experiment get the flags of the test that are its own.
func TestOwnFlags(t *testing.T) {
	if err := flag.Set("locktest-greeting", "good day"); err != nil {
		t.Fatal(err)
	}
	program, err := writeProgram(t.TempDir(), "self", order{Test: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "'-locktest-greeting="+*greeting+"'") || strings.Contains(string(text), "-test.timeout=10m") {
		t.Errorf("it is started by %s", text)
	}
}
