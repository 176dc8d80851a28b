package scenarios

import (
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
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
		"acquire, acquire other, release other":    {2, "acquire, acquire other, release other"},
		"acquire, acquire other within 0.3 leases": {2, "acquire, acquire other within 0.3 leases"},
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
		{"acquire, acquire other, acquire other, release other, release other, write, release", false,
			"0s A acquire granted; 0s A acquire other granted; 0s A release other ok; 0s A write ok; 0s A release ok"},
		{"acquire other, acquire, acquire other, release, acquire key 2, acquire other, acquire, release, release other, acquire key 2", false,
			"0s A acquire granted; 0s A acquire other granted; 0s A release ok; 0s A acquire granted; 0s A release ok; 0s A release other ok; 0s A acquire key 2 granted"},
		{"acquire, acquire, acquire other, release, release, release other", true,
			"0s A acquire granted; 0s A acquire nested granted; 0s A acquire other granted; 0s A release ok; 0s A release ok; 0s A release other ok"},
		{"acquire key 2, acquire key 2, release, write", true, "0s A acquire key 2 granted; 0s A acquire nested granted; 0s A release ok; 0s A write ok"},
	} {
		out := runSchedule(t, "clients:\n  A: "+tt.text+"\n", func(_ *stage, r *Runner) { r.Reentrant = tt.reentrant })
		if got := strings.Join(out.log, "; "); out.err != nil || got != tt.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", tt.text, out.err, got, tt.want)
		}
	}
}

// What a client asks for beside its lock, and what its library tells of that, is nothing that befalls its lock.
func TestOtherKeyIsAside(t *testing.T) {
	out := runSchedule(t, "clients:\n  A: acquire, acquire other, work 1 leases, write, release\n", func(s *stage, r *Runner) {
		r.Observe(history.Event{Process: "A", F: history.Acquire, Type: history.OK, Key: "k", Grant: "A.1", Time: 1})
		c := r.clients["A"]
		c.busy = &pending{move: Move{Do: history.Acquire, Other: true}}
		for _, e := range []history.Event{
			{F: history.Acquire, Type: history.Invoke, Key: "k0"},
			{F: history.Acquire, Type: history.OK, Key: "k0", Grant: "A.2", Lease: 5, Since: 1},
			{F: history.Lost, Type: history.Info, Key: "k0", Grant: "A.2"},
			{F: history.Release, Type: history.OK, Key: "k0", Grant: "A.2"},
		} {
			e.Process, e.Time = "A", 2
			r.Observe(e)
		}
		if c.grant != "A.1" || c.grants != 1 || c.lost || c.released != 0 || c.until != 0 || c.asking || c.other != "" {
			t.Errorf("it is thought to have %+v", c)
		}
		c.busy, c.other = nil, ""
		r.Observe(history.Event{Process: "A", F: history.Lost, Type: history.Info, Key: "k", Grant: "A.1", Time: 3})
		if !c.lost {
			t.Error("the loss of its lock is not heard")
		}
		*c = clientState{}
	})
	if out.err != nil {
		t.Error(out.err)
	}
}
