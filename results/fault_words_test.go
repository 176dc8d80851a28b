package results

import (
	"fmt"
	"strings"
	"testing"

	"github.com/picklock/picklock/internal/format"
)

// TestManyFaultWords: a record can name each of its faults otherwise, and a headline is one line.
func TestManyFaultWords(t *testing.T) {
	for n, want := range map[int]string{
		1: "f0", 3: "f0, f1 and f2", mostNamed + 1: "f11 and f12", mostNamed + 2: "f11 and 2 others", 20_000: "f11 and " + format.Count(19_988) + " others",
	} {
		var run Run
		for i := range n {
			run.Faults = append(run.Faults, fmt.Sprint("f", i))
		}
		if got := faultWords(run); !strings.HasSuffix(got, want) {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
