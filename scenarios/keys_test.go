package scenarios

import (
	"strings"
	"testing"
)

// A program says of each acquire which of the two keys it is for.
func TestKeys(t *testing.T) {
	for text, want := range map[string]struct {
		keys    int
		written string
	}{
		"acquire, write":                           {1, "acquire, write"},
		"acquire key 1":                            {1, "acquire"},
		"acquire key 1 within 0.3 leases":          {1, "acquire within 0.3 leases"},
		"acquire, acquire key 2":                   {2, "acquire, acquire key 2"},
		"acquire key 2 cancelled after 0.3 leases": {2, "acquire key 2 cancelled after 0.3 leases"},
		"acquire cancelled after 500ms":            {1, "acquire cancelled after 500ms"},
		"acquire key 2 within 500ms":               {2, "acquire key 2 within 500ms"},
	} {
		p, err := ParseProgram(text, []string{"A"})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		s := &Scenario{Clients: []string{"A"}, Programs: map[string]Program{"A": p}}
		if s.Keys() != want.keys || p.String() != want.written {
			t.Errorf("%s: %d keys, written %q", text, s.Keys(), p)
		}
	}
}

// A client asks for the key that its program names. Under one lock it asks for no other, whatever the kind of the lock.
func TestProgramsOfKeys(t *testing.T) {
	for _, tt := range []struct {
		text      string
		reentrant bool
		want      string
	}{
		{"acquire key 2, write, release, acquire within 0.5 leases, write", false,
			"0s A acquire key 2 granted; 0s A write ok; 0s A release ok; 0s A acquire within 500ms granted; 0s A write ok"},
		{"acquire, acquire key 2, write, release, write", true, "0s A acquire granted; 0s A write ok; 0s A release ok"},
		{"acquire key 2, acquire key 2, release, write", true, "0s A acquire key 2 granted; 0s A acquire nested granted; 0s A release ok; 0s A write ok"},
	} {
		out := runSchedule(t, "clients:\n  A: "+tt.text+"\n", func(_ *stage, r *Runner) { r.Reentrant = tt.reentrant })
		if got := strings.Join(out.log, "; "); out.err != nil || got != tt.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", tt.text, out.err, got, tt.want)
		}
	}
}
