package workloads

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/picklock/picklock/history"
)

// grantsKind is a lock of a kind that grants everything, and reports its loss when a file appears.
const grantsKind = `import json, os, sys, threading, time
def lose():
    while not os.path.exists(sys.argv[1]): time.sleep(0.005)
    print(json.dumps({"event": "lost", "key": "k0"}), flush=True)
    os.remove(sys.argv[1])
threading.Thread(target=lose, daemon=True).start()
for n, line in enumerate(sys.stdin):
    r = json.loads(line)
    print(json.dumps({"id": r["id"], "ok": True, "kind": "%s", "renew": True, "token": n + 1, "lease_ms": 60000}), flush=True)
    if r["op"] == "close": break
`

// under are the worker's events with the grants that they name.
func (w *scriptedWorker) under() []string {
	var out []string
	for _, m := range w.seen {
		if e := m.Event; e != nil && e.Type != history.Invoke {
			out = append(out, fmt.Sprintf("%s %s %s%s", e.Type, e.F, e.Grant, e.Mode))
		}
	}
	return out
}

// Who holds a reentrant lock can enter it again. To the register and to a renewal that is one hold, and a release
// leaves the innermost entry.
func TestScriptedEntries(t *testing.T) {
	w := startScripted(t, fmt.Sprintf(grantsKind, "reentrant"))
	for _, x := range []struct {
		act  string
		want Outcome
	}{
		{acquireNested, Failed}, // before any grant
		{acquireShared, Cannot},
		{history.Acquire, Granted},
		{acquireNested, Granted},
		{history.Read, Did},
		{history.Renew, Did},
		{acquireNested, Granted},
		{history.Release, Did},
		{history.Write, Did},
		{history.Release, Did},
		{history.Release, Did},
		{history.Release, Failed},
		{history.Acquire, Granted},
		{acquireNested, Granted},
		{history.Acquire, Granted}, // whatever it held
		{history.Release, Did},
		{history.Write, Failed},
	} {
		if got := w.do(x.act); got != x.want {
			t.Errorf("%s: %s, want %s", x.act, got, x.want)
		}
	}
	want := []string{
		"ok acquire A.1", "ok acquire A.2nested", "ok read A.1", "ok renew A.1", "ok acquire A.3nested", "ok release A.3", "ok write A.1", "ok release A.2", "ok release A.1",
		"ok acquire A.4", "ok acquire A.5nested", "ok acquire A.6", "ok release A.6",
	}
	if got := w.under(); !slices.Equal(got, want) {
		t.Errorf("events %q\nwant   %q", got, want)
	}
}

// A client releases again what it has released since its last acquire: a confirmation of that is none, and nothing is released
// again that is held, or under another key.
func TestScriptedSecondReleases(t *testing.T) {
	w := startScripted(t, strings.Replace(fmt.Sprintf(grantsKind, "reentrant"), `"renew"`, `"confirms": True, "renew"`, 1))
	for _, x := range []struct {
		act  string
		want Outcome
	}{
		{releaseAgain, Failed},
		{history.Acquire, Granted},
		{releaseAgain, Failed},
		{acquireNested, Granted},
		{history.Release, Did},
		{releaseAgain, Failed}, // it holds the outer entry
		{history.Release, Did},
		{releaseAgain, Did},
		{releaseAgain, Did},
		{history.Acquire, Granted},
		{releaseAgain, Failed},
		{history.Release, Did},
		{"another key", ""},
		{releaseAgain, Failed},
	} {
		if x.want == "" {
			w.next++
			if err := w.in.Encode(Command{Do: CommandKey, ID: w.next, Key: "k1"}); err != nil {
				t.Fatal(err)
			}
			w.until(func(m Message) bool { return m.Done != nil && m.Done.ID == w.next })
			continue
		}
		if got := w.do(x.act); got != x.want {
			t.Errorf("%s: %s, want %s", x.act, got, x.want)
		}
	}
	var got []string
	for _, m := range w.seen {
		if e := m.Event; e != nil && e.F == history.Release && e.Type == history.OK {
			got = append(got, fmt.Sprint(e.Grant, " ", e.Held))
		}
	}
	if want := []string{"A.2 true", "A.1 true", "A.1 false", "A.1 false", "A.3 true"}; !slices.Equal(got, want) {
		t.Errorf("releases %q, want %q", got, want)
	}
}

// A client that leaves a lock which it has entered gives up all entries, and what its library says of the lock is
// said of each.
func TestScriptedEntriesEnd(t *testing.T) {
	for _, ends := range []string{"key", "notice"} {
		w := startScripted(t, fmt.Sprintf(grantsKind, "reentrant"))
		w.do(history.Acquire)
		w.do(acquireNested)
		if ends == "notice" {
			if err := os.WriteFile(w.lose, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		} else if err := w.in.Encode(Command{Do: CommandKey, Key: "k1"}); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		w.until(func(m Message) bool {
			if m.Event != nil && m.Event.F == history.Lost {
				seen[m.Event.Grant] = true
			}
			return len(seen) == 2
		})
		if !seen["A.1"] || !seen["A.2"] {
			t.Errorf("%s: lost are %v", ends, seen)
		}
	}
}

// A client shares a lock only if the lock has readers; and no other lock is entered again.
func TestScriptedReaders(t *testing.T) {
	w := startScripted(t, fmt.Sprintf(grantsKind, "rw"))
	for _, x := range []struct {
		act  string
		want Outcome
	}{
		{acquireShared + " within 5s", Granted},
		{acquireNested, Cannot},
		{history.Read, Did},
		{history.Release, Did},
		{history.Acquire, Granted},
	} {
		if got := w.do(x.act); got != x.want {
			t.Errorf("%s: %s, want %s", x.act, got, x.want)
		}
	}
	want := []string{"ok acquire A.1shared", "ok read A.1", "ok release A.1", "ok acquire A.2"}
	if got := w.under(); !slices.Equal(got, want) {
		t.Errorf("events %q\nwant   %q", got, want)
	}
}
