package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// lines reads a history in short: one event a line, "PROCESS TYPE F [NAME=VALUE]...",
// a second apart and numbered from 0 unless index= or time= says otherwise.
func lines(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	for i, l := range strings.Split(strings.TrimSpace(text), "\n") {
		w := strings.Fields(l)
		e := map[string]any{"index": i, "time": (i + 1) * 1e9, "process": w[0], "type": w[1], "f": w[2]}
		for _, pair := range w[3:] {
			name, value, _ := strings.Cut(pair, "=")
			switch name {
			case "token", "since", "lease", "permits", "time", "index":
				e[name] = json.Number(value)
			case "nodes":
				e[name] = strings.Split(value, ",")
			case "held", "confirmed":
				e[name] = true
			default:
				e[name] = value
			}
		}
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	return out.String()
}

const (
	granted  = "c1 invoke acquire key=k\nc1 ok acquire key=k grant=c1.1\n"
	another  = "c2 invoke acquire key=k\nc2 ok acquire key=k grant=c2.1\n"
	released = "c1 invoke release key=k grant=c1.1\nc1 ok release key=k grant=c1.1\n"
)

// TestSound: what real runs, and people who write down little, have in a history.
func TestSound(t *testing.T) {
	for name, text := range map[string]string{
		"a grant":                                          granted + released,
		"answers that name no key":                         "c1 invoke acquire key=k\nc1 ok acquire grant=a\nc1 invoke write grant=a value=x\nc1 ok write grant=a\nc1 invoke release grant=a\nc1 ok release grant=a",
		"one lock without a name":                          "c1 invoke acquire\nc1 ok acquire grant=a\nc1 invoke release grant=a\nc1 ok release grant=a",
		"refused, unknown, and again":                      "c1 invoke acquire key=k\nc1 fail acquire key=k\nc1 invoke acquire key=k\nc1 info acquire key=k\n" + granted,
		"released twice":                                   granted + "c1 invoke release grant=c1.1\nc1 info release grant=c1.1\n" + released,
		"never released":                                   granted + "c1 invoke acquire key=k\nc1 ok acquire key=k grant=c1.2\nc1 invoke read grant=c1.1\nc1 ok read grant=c1.1",
		"left open at the end":                             granted + "c1 invoke write grant=c1.1 value=a\nc2 invoke acquire key=k",
		"a write is left open, and released":               granted + "c1 invoke write grant=c1.1 value=a\n" + released,
		"a library's own renewals":                         granted + "c1 ok renew grant=c1.1 since=2500000000 lease=5\nc1 invoke write grant=c1.1 value=a\nc1 ok renew grant=c1.1\nc1 ok write grant=c1.1",
		"a renewal beside another":                         granted + "c1 invoke renew grant=c1.1\nc1 ok renew grant=c1.1\nc1 fail renew grant=c1.1\nc1 invoke renew grant=c1.1\nc1 invoke renew grant=c1.1",
		"learns of a loss, twice":                          granted + "c1 info lost grant=c1.1\nc1 info lost grant=c1.1\n" + released + "c1 info lost grant=c1.1",
		"a session older than the run":                     "c1 invoke acquire key=k\nc1 ok acquire key=k grant=a since=-5000000000 lease=10000000000",
		"a lease without a beginning":                      "c1 invoke acquire key=k\nc1 ok acquire key=k grant=a lease=10000000000",
		"entered again":                                    "c1 invoke acquire key=k\nc1 ok acquire key=k grant=c1.1\nc1 invoke acquire key=k mode=nested\nc1 ok acquire key=k mode=nested grant=c1.2\n" + released,
		"killed while it waited":                           granted + "c2 invoke acquire key=k\nnemesis info kill nodes=c2 phase=begin confirmed\nnemesis info kill nodes=c2 phase=end\n" + another,
		"killed, and back before the fault's end is known": granted + "nemesis info kill nodes=c2 phase=begin\nc2 invoke acquire key=k\n" + another + "nemesis info kill nodes=c2 phase=end",
		"a kill that missed":                               "c2 invoke acquire key=k\nnemesis info kill:holder nodes=c2 phase=begin\nc2 ok acquire key=k grant=c2.1\nnemesis info kill:holder nodes=c2 phase=end",
		"a fault on at the end":                            "nemesis info pause nodes=c1 phase=begin\n" + granted,
		"a server that does not start again":               "nemesis info kill nodes=s1 phase=begin\n" + granted + "nemesis info kill nodes=s1 error=stays",
		"one fault on twice":                               "nemesis info pause nodes=c1 phase=begin\nnemesis info pause nodes=c1 phase=begin\nnemesis info pause nodes=c1 phase=end\nnemesis info pause nodes=c1 phase=end",
		"no lock at all":                                   "c1 invoke read key=k\nc1 ok read key=k\nc1 invoke add key=k value=c1.1\nc1 ok add key=k value=c1.1\nc2 invoke add key=k value=c2.1\nc2 info add key=k",
		"killed without a lock":                            "c1 invoke read key=k\nnemesis info kill nodes=c1 phase=begin\nc1 invoke read key=k\nc1 ok read key=k",
		"one value on two keys":                            granted + "c1 invoke write grant=c1.1 value=x\nc2 invoke acquire key=l\nc2 ok acquire key=l grant=c2.1\nc2 invoke write grant=c2.1 value=x",
		"values in any order":                              granted + "c1 invoke write grant=c1.1 value=c1.1.3\nc1 ok write grant=c1.1\nc1 invoke write grant=c1.1 value=c1.1.1\nc1 ok write grant=c1.1\nc1 invoke write grant=c1.1 value=c1.1.2",
		"grants of names of their own":                     "a.b invoke acquire key=k\na.b ok acquire key=k grant=7\na.b invoke acquire key=k\na.b ok acquire key=k grant=c1.1\nc1 invoke acquire key=k\nc1 ok acquire key=k grant=c1.2\na.b invoke read grant=7\na.b ok read grant=7\na.b invoke read grant=c1.1",
		"numbers left out":                                 granted + "c1 invoke acquire key=k\nc1 ok acquire key=k grant=c1.900\nc1 invoke release grant=c1.900\nc1 ok release grant=c1.900\n" + released,
		"events numbered by tens":                          "c1 invoke acquire key=k index=10\nc1 ok acquire key=k grant=c1.1 index=20\nc2 invoke acquire key=k index=5000",
		"out of order in the file":                         "c1 ok acquire key=k grant=c1.1 time=9 index=1\nc1 invoke acquire key=k time=8 index=0",
	} {
		if _, err := Decode(strings.NewReader(lines(t, text)), "h"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnsound: what would lead to an accusation of nobody's doing is refused, with the
// line that it stands on.
func TestUnsound(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown f", granted + "c1 invoke unlock grant=c1.1", `h:3: unknown f "unlock" of "c1": want acquire, release, renew, holds, lost, read, write or add`},
		{"a fault of a client", "c1 info pause nodes=c1 phase=begin", `h:1: unknown f "pause" of "c1"`},
		{"a grant without a name", "c1 invoke acquire key=k\nc1 ok acquire key=k", `h:2: "c1" was granted key "k" without a name`},
		{"a name for two clients", granted + "c2 invoke acquire key=k\nc2 ok acquire key=k grant=c1.1", `h:4: grant "c1.1" was given to "c1" before, now to "c2"`},
		{"a name for two clients, of neither", "c1 invoke acquire key=k\nc1 ok acquire key=k grant=x\nc2 invoke acquire key=k\nc2 ok acquire key=k grant=x", `h:4: grant "x" was given to "c1" before, now to "c2"`},
		{"another's name, and then its own", "c2 invoke acquire key=k\nc2 ok acquire key=k grant=c1.1\n" + granted, `h:4: grant "c1.1" was given to "c2" before, now to "c1"`},
		{"a name given twice", granted + granted, `h:4: grant "c1.1" was given to "c1" before`},
		{"an unknown grant is released", granted + "c1 invoke release key=k grant=c1.2", `h:3: a release of "c1" names grant "c1.2", which nobody was given before`},
		{"an unknown grant is renewed", granted + "c1 ok renew key=k grant=c1.0", `h:3: a renew of "c1" names grant "c1.0", which nobody was given before`},
		{"an unknown grant is lost", "c1 info lost key=k grant=c1.1", `h:1: a lost of "c1" names grant "c1.1", which nobody was given before`},
		{"an unknown grant reads", "c1 invoke read key=k grant=c1.1", `h:1: a read of "c1" names grant`},
		{"an unknown grant writes", granted + "c1 invoke write key=k grant=C1.1 value=a", `h:3: a write of "c1" names grant "C1.1"`},
		{"a release of no grant", granted + "c1 invoke release key=k", `h:3: a release of "c1" names no grant`},
		{"a renewal of no grant", granted + "c1 ok renew key=k", `h:3: a renew of "c1" names no grant`},
		{"a loss of no grant", granted + "c1 info lost key=k", `h:3: a lost of "c1" names no grant`},
		{"another's grant is released", granted + another + "c2 invoke release grant=c1.1", `h:5: a release of "c2" names grant "c1.1", which was given to "c1"`},
		{"another's grant is read under", granted + "c2 invoke read grant=c1.1", `h:3: a read of "c2" names grant "c1.1", which was given to "c1"`},
		{"completed by another", granted + another + "c1 invoke release grant=c1.1\nc2 ok release grant=c1.1", `h:6: a release of "c2" names grant "c1.1"`},
		{"another key", granted + "c1 invoke write key=l grant=c1.1 value=a", `h:3: a write on key "l" under grant "c1.1", which is of key "k"`},
		{"granted before it asked", "c1 ok acquire key=k grant=c1.1\nc1 invoke acquire key=k", `h:1: "c1" completes (ok) an acquire without having invoked it before`},
		{"refused before it asked", "c1 fail acquire key=k", `h:1: "c1" completes (fail) an acquire without`},
		{"answered twice", granted + "c1 info acquire key=k", `h:3: "c1" completes (info) an acquire without`},
		{"released before it asked", granted + "c1 ok release grant=c1.1\nc1 invoke release grant=c1.1", `h:3: "c1" completes (ok) a release without having invoked it before: it has none under way under grant "c1.1"`},
		{"read before it asked", granted + "c1 ok read grant=c1.1", `h:3: "c1" completes (ok) a read without`},
		{"written before it asked", granted + "c1 info write grant=c1.1 value=a", `h:3: "c1" completes (info) a write without`},
		{"without a lock, before it asked", "c1 ok read key=k", `h:1: "c1" completes (ok) a read without having invoked it before: it has none under way on key "k"`},
		{"without a lock, another key", "c1 invoke read key=k\nc1 ok read key=l", `h:2: "c1" completes (ok) a read without`},
		{"granted another key", "c1 invoke acquire key=k\nc1 ok acquire key=l grant=c1.1", `h:2: "c1" completes an acquire of key "l", and had invoked one of key "k" (event 0)`},
		{"two acquires under way", "c1 invoke acquire key=k\nc1 invoke acquire key=l", `h:2: "c1" invokes acquire while its acquire of event 0 is still open: complete that one (info, if nobody knows what became of it), or record the kill of "c1" in between`},
		{"two writes under way", granted + "c1 invoke write grant=c1.1 value=a\nc1 invoke write grant=c1.1 value=b", `h:4: "c1" invokes write while its write of event 2 is still open`},
		{"two reads under way", "c1 invoke read key=k\nc1 invoke read key=k", `h:2: "c1" invokes read while its read of event 0`},
		{"two reads under way, others killed", "c1 invoke read key=k\nnemesis info kill nodes=c2 phase=begin\nnemesis info pause nodes=c1 phase=begin\nc1 invoke read key=k", `h:4: "c1" invokes read while`},
		{"killed before it asked", "nemesis info kill nodes=c1 phase=begin\nnemesis info kill nodes=c1 phase=end\nc1 invoke acquire key=k\nc1 invoke acquire key=k", `h:4: "c1" invokes acquire while`},
		{"answered with another value", granted + "c1 invoke write grant=c1.1 value=a\nc1 ok write grant=c1.1 value=b", `h:4: "c1" completes a write of value "b", and had invoked one of value "a" (event 2)`},
		{"a mode that was not asked for", "c1 invoke acquire key=k\nc1 ok acquire key=k grant=c1.1 mode=shared", `h:2: "c1" completes an acquire of mode "shared", and had invoked one of mode ""`},
		{"a mode that was asked for", "c1 invoke acquire key=k mode=shared\nc1 ok acquire key=k grant=c1.1", `h:2: "c1" completes an acquire of mode "", and had`},
		{"other permits", "c1 invoke acquire key=k permits=3\nc1 ok acquire key=k grant=c1.1", `h:2: "c1" completes an acquire with permits 0, and had invoked one with 3`},
		{"a negative token", "c1 invoke acquire key=k\nc1 ok acquire key=k grant=c1.1 token=-1", `h:2: grant "c1.1" has the negative token -1`},
		{"a negative lease", "c1 invoke acquire key=k\nc1 ok acquire key=k grant=c1.1 lease=-1", `h:2: grant "c1.1" has a negative lease`},
		{"a lease from another clock", "c1 invoke acquire key=k\nc1 ok acquire key=k grant=c1.1 since=1790000000000000000 lease=1", `h:2: the lease of "c1.1" begins at 1790000000000000000 (since), after the event itself at 2000000000`},
		{"a renewed lease from another clock", granted + "c1 ok renew grant=c1.1 since=3000000001 lease=1", `h:3: the lease of "c1.1" begins at`},
		{"a negative renewal", granted + "c1 ok renew grant=c1.1 lease=-1", `h:3: grant "c1.1" has a negative lease`},
		{"a write of nothing", granted + "c1 invoke write grant=c1.1", `h:3: a write of "c1" without a value`},
		{"a value written twice", granted + "c1 invoke write grant=c1.1 value=x\nc1 ok write grant=c1.1\n" + another + "c2 invoke write grant=c2.1 value=x", `h:7: value "x" was written to key "k" before`},
		{"a counted value written twice", granted + "c1 invoke write grant=c1.1 value=c1.1.1\nc1 ok write grant=c1.1\nc1 invoke write grant=c1.1 value=c1.1.1", `h:5: value "c1.1.1" was written`},
		{"another's counted value", granted + "c1 invoke write grant=c1.1 value=c1.1.1\nc1 ok write grant=c1.1\n" + another + "c2 invoke write grant=c2.1 value=c1.1.1", `h:7: value "c1.1.1" was written`},
		{"another's counted value, before", another + granted + "c2 invoke write grant=c2.1 value=c1.1.1\nc1 invoke write grant=c1.1 value=c1.1.1", `h:6: value "c1.1.1" was written`},
		{"an element added twice", "c1 invoke add key=k value=a\nc2 invoke add key=k value=a", `h:2: value "a" was written to key "k" before`},
		{"a write without a grant beside a lock", granted + "c1 invoke write key=k value=a", "h:3: event 2 names no grant, while event 0 speaks of a lock: name the grant"},
		{"a lock beside a read without a grant", "c1 invoke read key=k\nc1 invoke acquire key=k", "h:2: event 0 names no grant, while event 1 speaks of a lock"},
		{"a loss of another type", granted + "c1 ok lost grant=c1.1", "h:3: a lost of type ok"},
		{"a fault of another type", "nemesis ok pause nodes=c1 phase=begin", `h:1: a fault "pause" of type ok`},
		{"a fault without a phase", "nemesis info pause nodes=c1", `h:1: unknown phase "" of fault "pause": want begin or end`},
		{"a fault that stays and never began", "nemesis info kill nodes=s1 error=stays", `h:1: unknown phase "" of fault "kill"`},
		{"a fault that stays and has ended", "nemesis info kill nodes=s1 phase=begin\nnemesis info kill nodes=s1 phase=end\nnemesis info kill nodes=s1 error=stays", `h:3: unknown phase "" of fault "kill"`},
		{"a fault that stays without a reason", "nemesis info kill nodes=s1 phase=begin\nnemesis info kill nodes=s1", `h:2: unknown phase "" of fault "kill"`},
		{"an unknown phase", "nemesis info pause nodes=c1 phase=middle", `h:1: unknown phase "middle" of fault "pause"`},
		{"a fault that never began", "nemesis info pause nodes=c1 phase=end", `h:1: fault "pause" on "c1" ends without having begun before`},
		{"a fault that began elsewhere", "nemesis info pause nodes=c1 phase=begin\nnemesis info pause nodes=c2 phase=end", `h:2: fault "pause" on "c2" ends`},
		{"a fault that ends twice", "nemesis info pause nodes=c1 phase=begin\nnemesis info pause nodes=c1 phase=end\nnemesis info pause nodes=c1 phase=end", `h:3: fault "pause"`},
		{"one number for all", "c1 invoke acquire key=k index=0\nc2 invoke acquire key=k index=0", "h:2: index 0 stands on another event as well"},
		{"a number twice, far from others", "c1 invoke acquire key=k index=9000\nc2 invoke acquire key=k index=2\nc3 invoke acquire key=k index=9000", "h:3: index 9000 stands on another event as well"},
		{"the line is the file's", "c1 ok acquire key=k grant=c1.1 time=9 index=7\nc2 invoke acquire key=k time=7 index=5\nc1 invoke acquire key=l time=8 index=6", `h:1: "c1" completes an acquire of key "k", and had invoked one of key "l" (event 6)`},
		{"nothing steers a terminal", "c1 invoke \x1b]0;owned\x07", `h:1: unknown f "\x1b]0;owned\a" of "c1"`},
		{"nor fills it", "c1 invoke " + strings.Repeat("x", 1000), fmt.Sprintf("h:1: unknown f %q of", strings.Repeat("x", 80))},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, err := Decode(strings.NewReader(lines(t, c.text)), "h")
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%d events, %v; want %s", len(events), err, c.want)
			}
		})
	}
}

// TestValidatorForgets: what is over takes no room but for a few bytes a grant, however
// long the history.
func TestValidatorForgets(t *testing.T) {
	var v Validator
	n := int64(0)
	take := func(e Event) {
		e.Index, e.Time, e.Process, e.Key = n, n, "c1", "k"
		n++
		if err := v.Check(&e); err != nil {
			t.Fatal(err)
		}
	}
	run := func(grants int) {
		for range grants {
			g := fmt.Sprintf("c1.%d", len(v.table.Process("c1").own)+1)
			take(Event{Type: Invoke, F: Acquire})
			take(Event{Type: OK, F: Acquire, Grant: g})
			for i := 1; i < 3; i++ {
				take(Event{Type: Invoke, F: Write, Grant: g, Value: fmt.Sprintf("%s.%d", g, i)})
				take(Event{Type: OK, F: Write, Grant: g})
			}
			take(Event{Type: Invoke, F: Release, Grant: g})
			take(Event{Type: OK, F: Release, Grant: g})
		}
	}
	run(5000)
	if p := v.table.Process("c1"); len(p.own) != 5000 || p.Len() > 0 || len(v.table.others) > 0 || len(v.values.others) > 0 || v.indexes.pages != nil {
		t.Errorf("%d grants, %d operations open, %d names and %d values in tables", len(p.own), p.Len(), len(v.table.others), len(v.values.others))
	}
}

// TestOneMachine: a process has one clock.
func TestOneMachine(t *testing.T) {
	_, err := Decode(strings.NewReader(lines(t, "c1 invoke acquire key=k machine=a\nc1 ok acquire key=k grant=c1.1\nc2 invoke acquire key=k machine=b\nc1 invoke release grant=c1.1 machine=b")), "h")
	if err == nil || !strings.Contains(err.Error(), `h:4: "c1" is on machine "b", and was on "a" before`) {
		t.Errorf("%v", err)
	}
}
