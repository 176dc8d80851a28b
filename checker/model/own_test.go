package model

import (
	"strconv"
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
)

// TestFromEvents: what becomes of picklock's own events for each model.
func TestFromEvents(t *testing.T) {
	var events []history.Event
	ev := func(p string, typ history.Type, f string, change ...func(*history.Event)) {
		e := history.Event{Index: int64(len(events)), Time: int64(len(events)), Process: p, Type: typ, F: f, Key: "k"}
		for _, c := range change {
			c(&e)
		}
		events = append(events, e)
	}
	token := func(n int64) func(*history.Event) { return func(e *history.Event) { e.Token = n } }
	grant := func(g string) func(*history.Event) { return func(e *history.Event) { e.Grant = g } }
	value := func(v string) func(*history.Event) { return func(e *history.Event) { e.Value = v } }
	ev("c1", history.Invoke, history.Acquire)
	ev("c1", history.OK, history.Acquire, token(7), grant("c1.1"))
	ev(history.Nemesis, history.Info, "pause")
	ev("c1", history.Invoke, history.Read, grant("c1.1"))
	ev("c1", history.OK, history.Read, value(""))
	ev("c1", history.Invoke, history.Write, value("a"), grant("c1.1"), token(9))
	ev("c1", history.OK, history.Write)
	ev("c1", history.Invoke, history.Write, value("b"), grant("c1.1"), token(9))
	ev("c1", history.Fail, history.Write)
	ev("c1", history.Invoke, history.Write, value("c"), grant("c1.1"), token(9)) // then it was killed
	ev("c1", history.Invoke, history.Read, grant("c1.1"))
	ev("c1", history.OK, history.Read, value("a"))
	ev("c1", history.Invoke, history.Release)
	ev("c1", history.Info, history.Release)
	ev("c1", history.Invoke, history.Acquire) // killed again
	ev("c1", history.Invoke, history.Acquire)
	ev("c1", history.OK, history.Acquire, token(-3))
	for name, want := range map[string]string{
		"owner-mutex":     "process c1: acquire (fence 7) 1-2; process c1: release -> unknown 13-; process c1: acquire -> unknown 15-; process c1: acquire 16-17",
		"register":        "process c1: read -> nil 4-5; process c1: write a 6-7; process c1: write c -> unknown 10-; process c1: read -> a 11-12",
		"fenced-register": "process c1: read -> nil (fence 7) 4-5; process c1: write a (fence 7) 6-7; process c1: write c (fence 7) -> unknown 10-; process c1: read -> a (fence 7) 11-12",
	} {
		m, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		h, err := FromEvents(events, func(i int) int { return i + 1 }, m, "h")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, o := range h.Ops {
			s := o.String() + " " + line(o.CallAt) + "-"
			if o.Type != Info {
				s += line(o.ReturnAt)
			}
			if o.F == "read" && o.Under != o.Out || o.F == "write" && o.Under != o.Arg || o.Key != "k" {
				s += " wrong"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: %s\nwant %s", name, s, want)
		}
	}
	for _, name := range []string{"set", "kv"} {
		m, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := FromEvents(events, func(i int) int { return i + 1 }, m, "h"); err == nil || !strings.Contains(err.Error(), "have no operations of model "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, _ := Named("owner-mutex")
	if _, err := FromEvents(events[1:], func(i int) int { return i + 2 }, m, "h"); err == nil || !strings.Contains(err.Error(), "h:2: process c1 completes an acquire that it never invoked") {
		t.Errorf("%v", err)
	}
}

func line(a At) string {
	if a.Line != int(a.Index)+1 {
		return "wrong"
	}
	return strconv.Itoa(a.Line)
}

// TestReadLog: what Jepsen's log says of each operation.
func TestReadLog(t *testing.T) {
	const prefix = "INFO  jepsen.util - "
	for _, c := range []struct{ name, text, want string }{
		{"answered", "1 :invoke :read nil|1 :ok :read 3|1 :invoke :write 4|1 :ok :write 4", "process 1: read -> 3; process 1: write 4"},
		{"of unknown outcome", "1 :invoke :write 4|1 :info :write :timed-out|2 :invoke :cas [1 2]", "process 1: write 4 -> unknown; process 2: cas 1 to 2 -> unknown"},
		{"a cas", "1 :invoke :cas [1 2]|1 :ok :cas [1 2]", "process 1: cas 1 to 2"},
		{"a cas that found another value", "1 :invoke :cas [1 2]|1 :fail :cas [1 2]", "process 1: cas 1 to 2 -> another value"},
		{"a cas that was not made", "1 :invoke :cas [1 2]|1 :fail :cas :timed-out", ""},
		{"a read that failed", "1 :invoke :read nil|1 :fail :read :timed-out", ""},
		{"a read that failed with nothing said", "1 :invoke :read nil|1 :fail :read nil", ""},
		{"a write that failed", "1 :invoke :write 3|1 :fail :write 3", ""},
	} {
		text := prefix + strings.ReplaceAll(c.text, "|", "\n"+prefix)
		text = "other lines\n\n" + text + "\n" + prefix + ":nemesis\t:info\t:start\tnil\n"
		h, err := ReadLog(strings.NewReader(text), "h")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, o := range h.Ops {
			got = append(got, o.String())
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
	if _, err := ReadLog(strings.NewReader(prefix+"1 :invoke :read "+strings.Repeat("x", maxAtom)), "h"); err == nil || !strings.HasPrefix(err.Error(), "h:1: ") {
		t.Errorf("a long line: %v", err)
	}
}
