package workloads

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	programs "github.com/picklock/picklock/clients/exec"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/testkit"
)

// grantsAll is a lock that grants everything, and loses it when a file appears.
const grantsAll = `import json, os, sys, threading, time
def lose():
    while not os.path.exists(sys.argv[1]): time.sleep(0.005)
    print(json.dumps({"event": "lost", "key": "k0"}), flush=True)
    os.remove(sys.argv[1])
threading.Thread(target=lose, daemon=True).start()
for n, line in enumerate(sys.stdin):
    r = json.loads(line)
    print(json.dumps({"id": r["id"], "ok": True, "token": n + 1, "lease_ms": 60000}), flush=True)
    if r["op"] == "close": break
`

// renewsFive renews a lock five times, and then says that it is lost.
const renewsFive = `import json, sys
renewed = 0
for line in sys.stdin:
    r = json.loads(line)
    a = {"id": r["id"], "ok": True, "token": 1, "lease_ms": 60000, "renew": True}
    if r["op"] == "renew":
        renewed += 1
        if renewed > 5: a = {"id": r["id"], "ok": False, "definite": True, "error": "not held"}
    print(json.dumps(a), flush=True)
    if r["op"] == "close": break
`

// scriptedWorker is a worker as the harness sees it.
type scriptedWorker struct {
	t        *testing.T
	in       *json.Encoder
	messages chan Message
	lose     string // a file that makes the lock report its loss
	next     int64
	seen     []Message
}

func startScripted(t *testing.T, source string) *scriptedWorker {
	t.Helper()
	testkit.NeedProgram(t, "python3", "apt-get install python3")
	dir := t.TempDir()
	program, lose := filepath.Join(dir, "lock.py"), filepath.Join(dir, "lose")
	if err := os.WriteFile(program, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	start := history.Now()
	ctx := t.Context()
	served := make(chan error, 1)
	mode, err := register.ParseFencingMode("none")
	if err != nil {
		t.Fatal(err)
	}
	go func() { served <- register.Serve(ctx, ln, register.NewStore(mode, start), io.Discard) }()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := Worker(ctx, Tables{Locks: clients.NewTable(programs.Program), Backends: register.Backends{register.OwnServer()}}, inR, outW, slog.New(slog.DiscardHandler))
		outW.Close()
		ended <- err
	}()
	w := &scriptedWorker{t: t, in: json.NewEncoder(inW), messages: make(chan Message, 100), lose: lose}
	go func() {
		defer close(w.messages)
		lines := bufio.NewScanner(outR)
		for lines.Scan() {
			var m Message
			if json.Unmarshal(lines.Bytes(), &m) == nil {
				w.messages <- m
			}
		}
	}()
	t.Cleanup(func() {
		inW.Close()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the worker does not end with its input")
		}
	})
	if err := w.in.Encode(Config{Settings: Settings{Lock: "exec:python3 " + program + " " + lose, Workload: "register", TTL: time.Second},
		Process: "A", RegisterAddr: ln.Addr().String(), KeyNames: []string{"k0"}, Wait: 10 * time.Second, Timeout: 10 * time.Second, Start: start, Scripted: true}); err != nil {
		t.Fatal(err)
	}
	w.until(func(m Message) bool { return m.Ready })
	return w
}

// until reads messages until one is as wanted.
func (w *scriptedWorker) until(want func(Message) bool) Message {
	w.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case m, ok := <-w.messages:
			if !ok {
				w.t.Fatal("the worker has ended")
			}
			w.seen = append(w.seen, m)
			if want(m) {
				return m
			}
		case <-limit:
			w.t.Fatal("the worker sends nothing more")
		}
	}
}

// sees reads messages until one is as wanted, unless one has been already: what a lock does by itself may be told before the answer
// to the act.
func (w *scriptedWorker) sees(want func(Message) bool) Message {
	w.t.Helper()
	if i := slices.IndexFunc(w.seen, want); i >= 0 {
		return w.seen[i]
	}
	return w.until(want)
}

func (w *scriptedWorker) do(act string) Outcome {
	w.t.Helper()
	w.next++
	if err := w.in.Encode(Command{Do: act, ID: w.next}); err != nil {
		w.t.Fatal(err)
	}
	return w.until(func(m Message) bool { return m.Done != nil && m.Done.ID == w.next }).Done.Outcome
}

func (w *scriptedWorker) events() []string {
	var out []string
	for _, m := range w.seen {
		if m.Event != nil {
			out = append(out, string(m.Event.Type)+" "+m.Event.F)
		}
	}
	return out
}

func TestScriptedActs(t *testing.T) {
	w := startScripted(t, grantsAll)
	for _, x := range []struct {
		act  string
		want Outcome
	}{
		{history.Read, Failed}, // before any grant
		{Check, Failed},
		{history.Release, Failed},
		{history.Acquire, Granted},
		{history.Read, Did},
		{Check, Did},
		{Check, Did}, // twice has no effect
		{history.Write, Did},
		{history.Write, Did},
		{history.Renew, Cannot}, // this lock has no lease that its user renews
		{"renew for 10s", Cannot},
		{Check, Did},
		{history.Release, Did},
		{history.Write, Failed}, // after the release
		{history.Acquire, Granted},
		{Check, Did},
	} {
		if got := w.do(x.act); got != x.want {
			t.Errorf("%s: %s, want %s", x.act, got, x.want)
		}
	}
	want := []string{"invoke acquire", "ok acquire", "invoke read", "ok read", "invoke write", "ok write", "invoke write", "ok write", "invoke release", "ok release", "invoke acquire", "ok acquire"}
	if got := w.events(); !slices.Equal(got, want) {
		t.Errorf("events %v\nwant %v", got, want)
	}
}

// A client renews every fifth of its lease, of a second here, until its time is over, or until the lock is lost.
func TestScriptedRenewals(t *testing.T) {
	w := startScripted(t, renewsFive)
	w.do(history.Acquire)
	for _, x := range []struct {
		act  string
		want Outcome
		last string // event
	}{
		{"renew for 300ms", Did, "ok renew"},
		{"renew for 20s", NotHeld, "fail renew"},
	} {
		if got := w.do(x.act); got != x.want {
			t.Errorf("%s: %s, want %s", x.act, got, x.want)
		}
		if e := w.events(); e[len(e)-1] != x.last {
			t.Errorf("%s: events %v", x.act, e)
		}
		if n := len(w.events()); x.want == Did && n < 6 { // the acquire's two, and those of two renewals
			t.Errorf("%s: %d events, want the second renewal's, too", x.act, n)
		}
	}
}

// An act with a time is read as it is written, and only an acquire and a renew have one.
func TestParseAct(t *testing.T) {
	for text, want := range map[string]struct {
		name, mode string
		span       time.Duration
		cancelled  bool
		bad        string
	}{
		"acquire":        {name: history.Acquire},
		"acquire shared": {name: history.Acquire, mode: history.Shared},
		"acquire nested": {name: history.Acquire, mode: history.Nested},
		"read shared":    {bad: ErrNoAct.Error()},

		"acquire shared within 1s":          {name: history.Acquire, mode: history.Shared, span: time.Second},
		"renew":                             {name: history.Renew},
		"acquire within 1s":                 {name: history.Acquire, span: time.Second},
		"acquire cancelled after 1s":        {name: history.Acquire, span: time.Second, cancelled: true},
		"acquire shared cancelled after 1s": {name: history.Acquire, mode: history.Shared, span: time.Second, cancelled: true},
		"renew cancelled after 1s":          {bad: "only an acquire"},
		"acquire cancelled after":           {bad: ErrNoAct.Error()},
		"renew for 1s":                      {name: history.Renew, span: time.Second},
		"renew within 1s":                   {bad: "only an acquire"},
		"acquire for 1s":                    {bad: "only a renew"},
		"read for 1s":                       {bad: "only a renew"},
		"renew for ever":                    {bad: "no length of time"},
		"renew for -1s":                     {bad: "no length of time"},
		"pray":                              {bad: ErrNoAct.Error()},
		"pray for 1s":                       {bad: ErrNoAct.Error()},
	} {
		a, err := ParseAct(text)
		if want.bad != "" {
			if err == nil || !strings.Contains(err.Error(), want.bad) {
				t.Errorf("%s: %v, want %q", text, err, want.bad)
			}
			continue
		}
		if err != nil || (a != Act{Do: want.name, Mode: want.mode, Span: want.span, Cancelled: want.cancelled}) || a.String() != text {
			t.Errorf("%s: %+v, %s, %v", text, a, a, err)
		}
	}
}

// A client that has checked its lease goes on to its write, and sees what the library reports in
// between only afterwards. Without that check it sees it at once.
func TestScriptedLoss(t *testing.T) {
	for _, looks := range []bool{true, false} {
		w := startScripted(t, grantsAll)
		w.do(history.Acquire)
		if looks {
			w.do(Check)
		}
		if err := os.WriteFile(w.lose, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		lost := func(m Message) bool { return m.Event != nil && m.Event.F == history.Lost }
		if !looks {
			w.until(lost)
		} else {
			// The lock removes the file when it has reported its loss.
			for {
				if _, err := os.Stat(w.lose); os.IsNotExist(err) {
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
		w.do(history.Write)
		if looks {
			w.sees(lost)
		}
		events := w.events()
		if l, wr := slices.Index(events, "info lost"), slices.Index(events, "invoke write"); looks != (wr < l) {
			t.Errorf("looked %v: %v", looks, events)
		}
	}
}

// acquiredAt sends the client to key k1, has it acquire that, and returns the number of the acquire among the lines that its program
// has read, the open among them. No record has the warm key.
func acquiredAt(t *testing.T, w *scriptedWorker, warm string) int64 {
	t.Helper()
	w.next++
	if err := w.in.Encode(Command{Do: CommandKey, ID: w.next, Key: "k1", WarmKey: warm}); err != nil {
		t.Fatal(err)
	}
	w.until(func(m Message) bool { return m.Done != nil && m.Done.ID == w.next })
	w.seen = nil
	if o := w.do(history.Acquire); o != Granted {
		t.Fatalf("acquire: %s", o)
	}
	for _, m := range w.seen {
		if m.Event != nil && m.Event.Key != "k1" {
			t.Errorf("recorded: %+v", *m.Event)
		}
	}
	return w.seen[slices.IndexFunc(w.seen, func(m Message) bool { return m.Event != nil && m.Event.Type == history.OK })].Event.Token
}

// A client that has just been opened acquires and releases a key of its own first, if it is asked to, so that its connections are
// there. No record has it, and it comes once.
func TestWarmKey(t *testing.T) {
	w := startScripted(t, grantsAll)
	for i, x := range []struct {
		warm string
		want int64 // the program counts the lines that it reads, the open among them
	}{{"", 2}, {"mine", 5}, {"mine", 6}} {
		if got := acquiredAt(t, w, x.warm); got != x.want {
			t.Errorf("%d: the acquire is line %d of the program's input, want %d", i, got, x.want)
		}
	}
	if o := w.do(CommandReopen); o != Did {
		t.Fatalf("reopen: %s", o)
	}
	if got := acquiredAt(t, w, "mine"); got != 4 {
		t.Errorf("opened anew, the acquire is line %d of the program's input, want 4", got)
	}
}

// A program that has ended by itself, or was ended since it did not answer, is started again before the next run, and connects before it.
func TestWarmKeyOfANewProgram(t *testing.T) {
	w := startScripted(t, strings.Replace(grantsAll, `if r["op"] == "close"`, `if r["op"] == "close" or (r["op"], r.get("key")) == ("acquire", "k1")`, 1))
	for i := range 2 {
		if got := acquiredAt(t, w, "mine"); got != 4 {
			t.Errorf("%d: the acquire is line %d of the program's input, want 4", i, got)
		}
		w.sees(func(m Message) bool {
			return m.Event != nil && m.Event.F == history.Lost && m.Event.Error == programEnded
		})
	}
}

// A client whose program has ended does nothing more under its grant: whoever held it has ended, too.
func TestProgramEnds(t *testing.T) {
	w := startScripted(t, strings.Replace(grantsAll, `    if r["op"] == "close": break`, `    if r["op"] in ("acquire", "close"): break`, 1))
	if o := w.do(history.Acquire); o != Granted {
		t.Fatalf("acquire: %s", o)
	}
	lost := w.sees(func(m Message) bool { return m.Event != nil && m.Event.F == history.Lost }).Event
	if lost.NotHeld || lost.Error != programEnded {
		t.Errorf("%+v", *lost)
	}
	if o := w.do(history.Write); o != Failed {
		t.Errorf("write: %s", o)
	}
}
