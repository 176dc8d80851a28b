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
		"acquire key 2 within 500ms": {Do: history.Acquire, Second: true, Span: 500 * time.Millisecond},
	} {
		if a, err := ParseAct(text); err != nil || a != want || a.String() != strings.Replace(text, " key 1", "", 1) {
			t.Errorf("%s: %+v, %s, %v", text, a, a, err)
		}
	}
	for text, want := range map[string]error{
		"acquire key 3":             ErrNoKey,
		"acquire key ":              ErrNoKey,
		"acquire key two within 1s": ErrNoKey,
		"acquire key":               ErrNoAct,
		"read key 2":                ErrNoAct,
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
