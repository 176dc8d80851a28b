package history

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A last line without a newline is dropped only if it is cut off: whatever follows could not
// make a record of one with a mistake.
func TestOnlyWhatIsCutOffIsDropped(t *testing.T) {
	const first = `{"index":0,"time":1,"process":"c1","type":"invoke","f":"acquire","key":"k"}` + "\n"
	whole := `{"index":1,"time":2,"process":"c1","type":"ok","f":"acquire","key":"k","grant":"c1.1","token":7}`
	for n := range whole {
		if events, err := Decode(strings.NewReader(first+whole[:n]), "h"); err != nil || len(events) != 1 {
			t.Errorf("cut off after %d bytes: %d events, %v", n, len(events), err)
		}
	}
	for _, last := range []string{strings.Replace(whole, "7", `"7"`, 1), whole + "}", whole + " x", `{"index":x`, "\x00\x00", "nonsense"} {
		var at *LineError
		if _, err := Decode(strings.NewReader(first+last), "h"); !errors.As(err, &at) || at.Line != 2 {
			t.Errorf("%q: %v", last, err)
		}
	}
}

// Two tries of one instant are two; a line that stands there twice is one.
func TestTriesOfOneInstant(t *testing.T) {
	tries := `{"index":0,"time":5,"process":"c2","type":"invoke","f":"acquire","key":"k"}
{"index":1,"time":5,"process":"c2","type":"fail","f":"acquire","key":"k"}
{"index":2,"time":5,"process":"c2","type":"invoke","f":"acquire","key":"k"}
{"index":3,"time":5,"process":"c2","type":"fail","f":"acquire","key":"k"}
`
	if events, err := Decode(strings.NewReader(tries), "h"); err != nil || len(events) != 4 {
		t.Errorf("%d events, %v", len(events), err)
	}
	lines := strings.SplitAfter(tries, "\n")
	for i := range 4 {
		twice := slices.Insert(slices.Clone(lines), i, lines[i])
		if _, err := Decode(strings.NewReader(strings.Join(twice, "")), "h"); err == nil || !strings.Contains(err.Error(), "written twice") {
			t.Errorf("line %d twice: %v", i+1, err)
		}
	}
	granted := strings.ReplaceAll(tries, `"fail","f":"acquire","key":"k"`, `"ok","f":"acquire","key":"k","grant":"c2.1"`)
	if _, err := Decode(strings.NewReader(granted), "h"); err == nil {
		t.Error("one grant was given twice")
	}
}

// EventsAt names the lines of the file, also of columns and of what was not in order.
func TestEventsAt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "h.csv")
	if err := os.WriteFile(file, []byte("time,process,type,f,key,grant\n3,c1,invoke,release,k,g1\n1,c1,invoke,acquire,k,\n2,c1,ok,acquire,k,g1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	events, line, err := Source{Path: file, CSV: true}.EventsAt()
	if err != nil || len(events) != 3 || line(0) != 3 || line(1) != 4 || line(2) != 2 {
		t.Errorf("%+v on lines %d, %d, %d: %v", events, line(0), line(1), line(2), err)
	}
}
