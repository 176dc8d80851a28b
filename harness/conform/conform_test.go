package conform

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/picklock/picklock/internal/proc"
	"github.com/picklock/picklock/internal/testkit"
	"github.com/picklock/picklock/nemesis/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// atOnce is how many programs are tried at the same time: most of it is waiting.
const atOnce = 6

// mistakes are the ways of testdata/lock.py to be wrong: what is said of each, by the check
// that says it, and by no other.
var mistakes = map[string]map[string]string{
	"":                           {},
	"exit":                       {"open": "it ended (exit status 0) instead of answering open"},
	"crash-at-open":              {"open": `its last words: "RuntimeError: no luck"`},
	"refuses-open":               {"open": `it refused open: "no luck"`},
	"silent-at-open":             {"open": "did not answer open within"},
	"kind":                       {"declares": `unknown kind "latch"`},
	"tokens-in-words":            {"declares": `"tokens" is a string, and has to be true or false`},
	"crash-at-acquire":           {"acquire": "it ended (exit status 1) instead of answering acquire"},
	"exit-at-acquire":            {"acquire": "it ended (exit status 3) instead of answering acquire"},
	"half-line":                  {"acquire": "it ended", "form": "in the middle of a line"},
	"refuses-release":            {"release": "could not release what it had just been granted"},
	"keeps":                      {"release": "the release freed nothing, or not all"},
	"crash-at-release":           {"release": "it ended (exit status 1) instead of answering release"},
	"no-token":                   {"token": `a grant has no "token"`},
	"token-falls":                {"token": "was given after"},
	"no-lease":                   {"lease": `a grant has no "lease_ms"`},
	"lease-negative":             {"lease": "lease_ms out of range"},
	"declares-no-lease":          {"lease": `it declared "lease":false`},
	"no-since":                   {"since": `without "since_ns"`},
	"wall-clock":                 {"since": "is a wall clock's time", "renew": "of a renew: since_ns"},
	"milliseconds":               {"since": "is not in nanoseconds", "renew": "is not in nanoseconds"},
	"future":                     {"since": "it is later than now", "renew": "it is later than now"},
	"wall-clock-since-boot":      {"clock": "its wall clock was set by 1h0m0s, and since_ns went with it"},
	"wall-clock-time-out":        {"clock": "its wall clock was set by -1h0m0s while it waited"},
	"refuses-renew":              {"renew": "could not renew what it had just been granted"},
	"renew-without-lease":        {"renew": `no "lease_ms"`},
	"renew-without-since":        {"renew": `no "since_ns"`},
	"holds-never":                {"holds": "did not say that it holds what it had just been granted"},
	"holds-always":               {"holds": "it says that it holds a lock that another client had been granted since"},
	"holds-without-held":         {"holds": `no "held"`},
	"waits-for-ever":             {"time-out": "it was to wait"},
	"late":                       {"time-out": "after that"},
	"reentrant":                  {"kind": "asked again for what it holds, it refused"},
	"rw":                         {"kind": "client 2 of 2 that may hold it at once"},
	"semaphore":                  {"kind": "client 2 of 2 that may hold it at once"},
	"confirms-all":               {"confirms": "it renewed a lock that another client had been granted since"},
	"silent-at-unknown":          {"unknown": "did not answer what-nobody-knows"},
	"crash-at-what-nobody-knows": {"unknown": "it ended"},
	"ok-to-unknown":              {"unknown": "said ok to an op that there is not"},
	"close-blocks":               {"close": "it was asked to close, and had not ended"},
	"close-blocks-holding":       {"close": "it was asked to close, holding a lock"},
	"outlives-stdin":             {"close": "it was asked to close", "stdin": "its standard input ended, and it lived on"},
	"session":                    {"group": "sleep (process", "children": "sleep (process"},
	"child":                      {"children": "sleep (process"},
	"watchdog":                   {}, // right, and renews by itself
	"cancels":                    {}, // right, and can be cancelled
	"cancels-never":              {"cancel": "was cancelled after 500ms, and answered"},
	"cancels-as-time-out":        {"cancel": `"error": "timeout"`},
	"cancels-and-keeps":          {"cancel": "another client could not have the lock"},
	"several":                    {}, // right, and can hold two keys at once
	"several-refuses":            {"several": "did not acquire another one that is free"},
	"several-forgets":            {"several": "released the first, and did not release the other"},
	"reopens":                    {}, // right, and can be opened once more
	"reopens-once":               {"reopen": "it refused to be opened once more"},
	"reopens-otherwise":          {"reopen": "it declares something else"},
	"reopens-and-keeps":          {"reopen": "it kept what it had held before"},
	"reopens-and-sleeps":         {"reopen": "was not granted it; one that asked after that was"},
	"watchdog-dies":              {"watchdog": "another client was granted what it held"},
	"watchdog-forgets":           {"watchdog": "did not hold the lock any more 6s after"},
	"babbles":                    {"open": `it wrote "what is the matter?" instead of answering open`, "stdout": `it wrote "what is the matter?"`},
	"babbles-at-acquire":         {"acquire": `it wrote "granted!" instead of answering acquire`, "stdout": `it wrote "granted!"`},
	"greets":                     {"stdout": `"Welcome"`},
	"prints":                     {"stdout": `"DEBUG: acquired"`},
	"list":                       {"open": `it wrote "[{`, "stdout": `it wrote "[{`},
	"wrong-id":                   {"id": "it answered request 1 (open) with"},
	"no-id":                      {"id": "it answered request 1 (open) with"},
	"twice":                      {"id": "it answered request 1 twice"},
	"id-in-quotes":               {"form": `"id" is a string, and has to be a number`},
	"ok-in-quotes":               {"form": `"ok" is a string, and has to be true or false`},
	"no-ok":                      {"form": `an answer has no "ok"`},
	"no-reason":                  {"form": "and not why"},
	"long-line":                  {"open": "instead of answering open", "form": "it wrote a line of more than 65536 bytes"},
	"event":                      {"event": "there is no such event"},
	"event-without-key":          {"event": `an event has no "key"`},
	"renewed-without-since":      {"event": `"renewed" needs "lease_ms" and "since_ns"`},
	"renewed-by-wall-clock":      {"event": "is a wall clock's time"},
}

// cannot are the checks that a program which is right has nothing for: where a lease never ends, no other
// client's grant comes in between.
var cannot = map[string][]string{"": {"watchdog", "reopen", "cancel", "several"}, "watchdog": {"confirms", "reopen", "cancel", "several"}, "reopens": {"confirms", "watchdog", "cancel", "several"}, "cancels": {"watchdog", "reopen", "several"}, "several": {"watchdog", "reopen", "cancel"}}

// python is a command for Python as it is installed, without what starts slowly around it.
func python(t *testing.T) string {
	testkit.NeedProgram(t, "python3", "python3")
	out, err := exec.CommandContext(t.Context(), "python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out)) + " -I -S"
}

// slow are the checks that have to wait or to start many programs. They are made where the
// mistake is one of theirs, and of the program that is right.
var slow = []string{"watchdog", "kind", "time-out", "cancel", "clock", "confirms", "holds", "reopen", "close", "stdin", "group", "children"}

// checksFor are those that are made of a mistake.
func checksFor(mistake string) []check {
	want := mistakes[mistake]
	if len(want) == 0 || slices.ContainsFunc(slow, func(name string) bool { return want[name] != "" }) {
		return checks
	}
	return slices.DeleteFunc(slices.Clone(checks), func(c check) bool { return slices.Contains(slow, c.name) })
}

// TestMistakes: each planted mistake is named by its check and by no other, and the right
// program passes all.
func TestMistakes(t *testing.T) {
	python := python(t)
	clocks := clock.Supported()
	turn := make(chan struct{}, atOnce)
	found := map[string]chan []Result{}
	for name := range mistakes {
		c := make(chan []Result, 1)
		found[name] = c
		cfg := Config{
			Command: python + " testdata/lock.py " + name, TTL: 2 * time.Second,
			Extra: map[string]string{"file": filepath.Join(t.TempDir(), "locks")},
		}
		go func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			var all []Result
			err := run(t.Context(), cfg, checksFor(name), func(r Result) { all = append(all, r) })
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			c <- all
		}()
	}
	for name, want := range mistakes {
		all := <-found[name]
		t.Run(name, func(t *testing.T) {
			if n := len(checksFor(name)); len(all) != n {
				t.Fatalf("%d results of %d checks", len(all), n)
			}
			for _, r := range all {
				said := ""
				for _, p := range r.Problems {
					said += p.What + ": " + p.Fix + "\n"
				}
				switch expected, wrong := want[r.Check]; {
				case wrong && clocks != nil && r.Check == "clock":
					t.Logf("the clock cannot be tried: %v", clocks)
				case wrong != (r.Outcome == Wrong) || wrong && !strings.Contains(said, expected):
					t.Errorf("%s: %s %s\n%swant %q", r.Check, r.Outcome, r.Why, said, expected)
				case wrong && (len(r.Problems) != 1 || r.Problems[0].Fix == ""):
					t.Errorf("%s: want one problem with its remedy: %s", r.Check, said)
				case len(want) == 0 && r.Outcome != OK && !slices.Contains(cannot[name], r.Check) && (r.Check != "clock" || clocks == nil):
					t.Errorf("%s: %s %s, of a program that is right", r.Check, r.Outcome, r.Why)
				}
			}
		})
	}
}

// TestNoSuchProgram: the command itself may be wrong.
func TestNoSuchProgram(t *testing.T) {
	for command, remedy := range map[string]string{"no-such-lock": "the shell does not find", "sh -c 'exit 3'": "catch what goes wrong",
		"python3 /no/such/lock.py": "a file is missing", "/etc/passwd": "make it executable"} {
		var all []Result
		if err := Run(t.Context(), Config{Command: command, TTL: time.Second}, func(r Result) { all = append(all, r) }); err != nil {
			t.Fatal(err)
		}
		if r := all[0]; r.Outcome != Wrong || !strings.Contains(r.Problems[0].Fix, remedy) {
			t.Errorf("%s: %+v, want a remedy with %q", command, r, remedy)
		}
		if r := all[0]; !strings.Contains(r.Problems[0].Fix, "--cluster") {
			t.Errorf("%s: %+v, and no word of the servers", command, r)
		}
		if r := all[len(all)-1]; r.Outcome != NotTried {
			t.Errorf("%s: %+v of a program that said nothing", command, r)
		}
		if r := all[1]; r.Outcome != NotTried || r.Why != "open has to be right first" {
			t.Errorf("%s: %+v", command, r)
		}
	}
}

// TestNothingIsLeft: what a program leaves behind is ended, and so is all when the run is
// broken off.
func TestNothingIsLeft(t *testing.T) {
	before, err := proc.Living(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, mistake := range []string{"session", "close-blocks"} {
		ctx, cancel := context.WithCancel(t.Context())
		err := Run(ctx, Config{Command: python(t) + " testdata/lock.py " + mistake, TTL: time.Second, Extra: map[string]string{"file": filepath.Join(t.TempDir(), "locks")}}, func(r Result) {
			if r.Check == "declares" {
				cancel()
			}
		})
		cancel()
		if err == nil {
			t.Errorf("%s: it was broken off and says nothing", mistake)
		}
	}
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		after, err := proc.Living(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		after = slices.DeleteFunc(after, func(p proc.Process) bool {
			return slices.ContainsFunc(before, func(b proc.Process) bool { return b.PID == p.PID })
		})
		if len(after) == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("left behind: %+v", after)
		}
	}
}
