package scenarios

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"time"
)

// FuzzParse: whatever a scenario's file holds, it is refused with its name and line,
// or it has all that a scenario needs to be run.
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
	for _, text := range []string{"", "a", "[]", "{}", "name: x\nname: y\n", "clients:\n  A: acquire\n", "a: &a [*a]\n", "run: {clients: -1}\n", "\t", "? [a]\n: b\n"} {
		f.Add([]byte(text))
	}
	for _, text := range schedules {
		f.Add([]byte(scheduleHead + text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("s.yaml", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s.yaml:") {
				t.Fatalf("no file and line: %v", err)
			}
			return
		}
		if s.Name == "" || s.About == "" || len(s.Locks) == 0 {
			t.Fatalf("incomplete: %+v", s)
		}
		if s.Programs != nil {
			whole(t, s)
			return
		}
		if len(s.TriggeredFaults) > 0 || len(s.Clients) > 0 || s.Run == nil {
			t.Fatalf("incomplete: %+v", s)
		}
		if again, err := Parse("s.yaml", s.Text); err != nil || again.Name != s.Name || again.Run == nil {
			t.Fatalf("another one when it is read again: %+v, %v", again, err)
		}
	})
}

// whole sees that a schedule has all that it takes to run it, and that it is the same one
// when it is written and read again.
func whole(t *testing.T, s *Scenario) {
	t.Helper()
	if s.Run != nil || len(s.Clients) == 0 || len(s.Programs) != len(s.Clients) {
		t.Fatalf("not one of one kind: %+v", s)
	}
	for _, c := range s.Clients {
		if len(s.Programs[c]) == 0 {
			t.Fatalf("%s does nothing", c)
		}
	}
	for _, st := range s.TriggeredFaults {
		if _, ok := lookup(st.Fault.Word); !ok || st.When.At == "" || st.When.At == Event && st.When.Await == nil || st.Until.Or.Of(time.Second) < 0 {
			t.Fatalf("no fault that can strike: %+v", st)
		}
	}
	written := s.Write()
	again, err := Parse("s.yaml", written)
	if err != nil {
		t.Fatalf("%v\n%s\nread as\n%s", err, s.Text, written)
	}
	if !reflect.DeepEqual(again.Expect, s.Expect) {
		t.Fatalf("expected %+v\nand after it was written and read %+v\n%s", s.Expect, again.Expect, written)
	}
	if twice := again.Write(); string(twice) != string(written) {
		t.Fatalf("written\n%s\nand again\n%s", written, twice)
	}
}
