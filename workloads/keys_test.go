package workloads

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/history"
)

// The key is taken off an acquire alone, and only where there is one.
func TestParseKeys(t *testing.T) {
	for text, want := range map[string]Act{
		"acquire":                    {Do: history.Acquire},
		"acquire key 1":              {Do: history.Acquire},
		"acquire key 2":              {Do: history.Acquire, Second: true},
		"acquire shared key 2":       {Do: history.Acquire, Mode: history.Shared, Second: true},
		"acquire other":              {Do: history.Acquire, Mode: Other},
		"release other":              {Do: history.Release, Mode: Other},
		"acquire other within 1s":    {Do: history.Acquire, Mode: Other, Span: time.Second},
		"acquire key 2 within 500ms": {Do: history.Acquire, Second: true, Span: 500 * time.Millisecond},
	} {
		if a, err := ParseAct(text); err != nil || a != want || a.String() != strings.Replace(text, " key 1", "", 1) {
			t.Errorf("%s: %+v, %s, %v", text, a, a, err)
		}
	}
	for text, want := range map[string]error{
		"acquire key 3":       ErrNoKey,
		"acquire other key 2": ErrNoKey,

		"acquire other cancelled after 1s": ErrNoAct,
		"acquire key ":                     ErrNoKey,
		"acquire key two within 1s":        ErrNoKey,
		"acquire key":                      ErrNoAct,
		"read key 2":                       ErrNoAct,
	} {
		if _, err := ParseAct(text); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

// What follows an acquire is done with the key that it was for.
func TestScriptedKeys(t *testing.T) {
	w := startScripted(t, grantsAll)
	for _, act := range []string{"acquire key 2", history.Write, history.Release, "acquire key 2 within 10s", history.Release, history.Acquire, history.Write} {
		w.do(act)
	}
	var got []string
	for _, m := range w.seen {
		if m.Event != nil && m.Event.Type == history.OK {
			got = append(got, m.Event.F+" "+m.Event.Key)
		}
	}
	want := []string{"acquire k00", "write k00", "release k00", "acquire k00", "release k00", "acquire k0", "write k0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// A client holds the other key beside the one that it holds, which goes on.
func TestScriptedOther(t *testing.T) {
	w := startScripted(t, strings.Replace(grantsAll, `"ok": True,`, `"ok": True, "several": True,`, 1))
	for _, act := range []string{"acquire", "acquire other", "acquire other", history.Write, "release other", "release other", history.Write, "acquire other", history.Release, "release other",
		"acquire key 2", "acquire other", history.Write} {
		w.do(act)
	}
	var got []string
	for _, m := range w.seen {
		switch {
		case m.Event != nil && m.Event.Type == history.OK:
			got = append(got, m.Event.F+" "+m.Event.Key+" "+m.Event.Grant)
		case m.Done != nil && m.Done.Outcome == Failed:
			got = append(got, string(Failed))
		}
	}
	want := []string{"acquire k0 A.1", "acquire k00 A.2", "failed", "write k0 A.1", "release k00 A.2", "failed", "write k0 A.1", "acquire k00 A.3", "release k0 A.1", "release k00 A.3",
		"acquire k00 A.4", "acquire k0 A.5", "write k00 A.4"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	// What is still held when the client goes on with another key is given up.
	if err := w.in.Encode(Command{Do: CommandKey, Key: "k9", ID: 99}); err != nil {
		t.Fatal(err)
	}
	lost := map[string]bool{}
	w.until(func(m Message) bool {
		if m.Event != nil && m.Event.F == history.Lost {
			lost[m.Event.Grant] = true
		}
		return m.Done != nil && m.Done.ID == 99
	})
	if len(lost) != 2 || !lost["A.4"] || !lost["A.5"] {
		t.Errorf("given up: %v", lost)
	}
}

// A program that does not declare that it can hold several keys is not asked to.
func TestScriptedOtherUndeclared(t *testing.T) {
	w := startScripted(t, grantsAll)
	w.do("acquire")
	if got := w.do("acquire other"); got != Cannot {
		t.Errorf("it %s", got)
	}
}
