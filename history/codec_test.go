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

// TestFormerConfirmed: a fault's begin that an earlier history calls took effect is confirmed, in
// every format, whatever else stands on the line.
func TestFormerConfirmed(t *testing.T) {
	const begin = `"index":0,"time":5,"process":"nemesis","type":"info","f":"pause","nodes":["c1"],"phase":"begin"`
	span := `{"name":"pause","startTimeUnixNano":"5","attributes":[{"key":"process","value":{"stringValue":"nemesis"}},{"key":"nodes","value":{"arrayValue":{"values":[{"stringValue":"c1"}]}}},{"key":"landed","value":{"boolValue":true}}]}`
	for name, tt := range map[string]struct {
		text string
		in   Source
		want bool
	}{
		"today":              {text: `{` + begin + `,"confirmed":true}`, want: true},
		"earlier":            {text: `{` + begin + `,"landed":true}`, want: true},
		"earlier, missed":    {text: `{` + begin + `,"landed":false}`},
		"neither":            {text: `{` + begin + `}`},
		"another member":     {text: `{` + begin + `,"LANDED":true,"Confirmed":true}`},
		"escaped":            {text: `{` + begin + `,"l\u0061nded":true,"Detail":"x"}`, want: true},
		"CSV, earlier":       {text: "time,process,type,f,nodes,phase,landed\n5,nemesis,info,pause,c1,begin,true\n", in: Source{CSV: true}, want: true},
		"CSV, today":         {text: "time,process,type,f,nodes,phase,confirmed\n5,nemesis,info,pause,c1,begin,true\n", in: Source{CSV: true}, want: true},
		"a trace, earlier":   {text: document(span), in: Source{Spans: true}, want: true},
		"a trace, today":     {text: document(strings.Replace(span, "landed", "confirmed", 1)), in: Source{Spans: true}, want: true},
		"CSV, earlier, both": {text: "time,process,type,f,nodes,phase,landed,confirmed\n5,nemesis,info,pause,c1,begin,true,\n", in: Source{CSV: true}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			tt.in.Path = filepath.Join(t.TempDir(), "history")
			if err := os.WriteFile(tt.in.Path, []byte(tt.text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			events, err := tt.in.Events()
			if err != nil || len(events) != 1 || events[0].Phase != Begin || events[0].Confirmed != tt.want {
				t.Errorf("%+v, %v", events, err)
			}
		})
	}
}

// Times and leases that the checker cannot compute with are refused with their line, in every format.
func TestTimesBeyondAll(t *testing.T) {
	const line = `{"index":0,"time":TIME,"process":"c1","type":"ok","f":"acquire","key":"k","grant":"c1.1","since":SINCE,"lease":LEASE}` + "\n"
	for _, tt := range []struct{ time, since, lease, want string }{
		{"2305843009213693951", "-2305843009213693951", "2305843009213693951", ""},
		{"2305843009213693952", "0", "0", "h:1: time 2305843009213693952 is beyond 2305843009213693951 (73 years)"},
		{"9223372036854775807", "0", "0", "h:1: time 9223372036854775807 is beyond"},
		{"0", "-2305843009213693952", "0", "h:1: since -2305843009213693952 is beyond"},
		{"0", "0", "9223372036854775807", "h:1: a lease of 9223372036854775807 ns, which is more than 2305843009213693951 (73 years)"},
	} {
		text := strings.NewReplacer("TIME", tt.time, "SINCE", tt.since, "LEASE", tt.lease).Replace(line)
		err := Stream(strings.NewReader(text), "h", func(*Event, int) error { return nil })
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", text, err, tt.want)
		}
	}
	err := StreamEffects(strings.NewReader(`{"seq":1,"time":9223372036854775807,"process":"c1","f":"write","key":"k","version":1}`+"\n"), "r", func(*Effect) error { return nil })
	if err == nil || !strings.HasPrefix(err.Error(), "r:1: time 9223372036854775807 is beyond") {
		t.Errorf("a log: %v", err)
	}
}
