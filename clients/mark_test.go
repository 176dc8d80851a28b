package clients_test

import (
	"slices"
	"testing"

	"github.com/picklock/picklock/clients"
)

// A mark is at the beginning of a name, or the name may be a user's.
func TestMarks(t *testing.T) {
	const mark = "picklock-abcdefghij-"
	for name, want := range map[string]string{
		mark + "k0": mark, mark: mark,
		"my-" + mark + "k0": "", "app/" + mark + "k0": "", " " + mark: "", "of " + mark + "k0": "", "\n" + mark: "",
		"picklock-abcdefghij": "", "picklock-ABCDEFGHIJ-k0": "", "picklock-backup-k0": "", "": "",
	} {
		if got := clients.MarkIn(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	names := []string{mark + "k1", mark + "k0", "my-picklock-bbbbbbbbbb-k0", "picklock-aaaaaaaaaa-k0"}
	if got := clients.MarksIn(names); !slices.Equal(got, []string{"picklock-aaaaaaaaaa-", mark}) {
		t.Errorf("%q", got)
	}
}
