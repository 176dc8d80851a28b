package scenarios

import (
	"io/fs"
	"strings"
	"testing"
)

// FuzzParse: whatever a scenario's file holds, it is refused with its name and line,
// or it has all that a scenario needs to be played.
func FuzzParse(f *testing.F) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil || len(names) == 0 {
		f.Fatalf("no scenarios: %v", err)
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{"", "a", "[]", "{}", "name: x\nname: y\n", "steps:\n- c1: acquire\n", "a: &a [*a]\n", "run: {clients: -1}\n", "\t", "? [a]\n: b\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("s.yaml", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s.yaml:") {
				t.Fatalf("no file and line: %v", err)
			}
			return
		}
		if s.Name == "" || s.About == "" || len(s.Locks) == 0 || len(s.Clients) == 0 == (s.Run == nil) || len(s.Steps) == 0 == (s.Run == nil) {
			t.Fatalf("incomplete: %+v", s)
		}
		if again, err := Parse("s.yaml", s.Text); err != nil || again.Name != s.Name || len(again.Steps) != len(s.Steps) {
			t.Fatalf("another one when it is read again: %+v, %v", again, err)
		}
	})
}
