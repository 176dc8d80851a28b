package scenarios

import (
	"strings"
	"testing"
	"time"
)

// scheduleHead is a scenario without clients and faults; its last line is line 4.
const scheduleHead = `name: x
about: y
locks: [redis]
ttl: 1s
`

// twoClients are what most faults strike at; their last line is line 7.
const twoClients = `clients:
  A: acquire, read, write, release, acquire, write
  B: await A granted, acquire within 0.3 leases, read, work 1.3 leases, write, release
`

// schedules are right, and written as Write does it.
var schedules = []string{
	twoClients,
	twoClients + strike("before A's write", "pause: A", "B granted or 2 leases"),
	"clients:\n  A: acquire cancelled after 0.3 leases, read, write, release\n  B: await A granted, acquire shared cancelled after 200ms, read, release\n",
	twoClients + strike("A's 2nd acquire", "kill: A", "after B's write or 3 leases"),
	twoClients + strike("after A's 2nd write", "kill: redis without data", "500ms"),
	twoClients + strike("A's acquire has sent message 1", "hold: redis to A", "1 lease"),
	twoClients + strike("B's release has got answer 2", "hold: B to register", "B waiting or 1.5 leases"),
	twoClients + strike("start", "clock: redis +5s", "0.6 leases"),
	twoClients + strike("start", "clock: redis x1.1", "0.6 leases"),
	twoClients + strike("start", "clock: redis strobe 50ms", "0.6 leases"),
	twoClients + strike("B waiting", "cut: A from redis", "lease of A over or 2 leases"),
	twoClients + strike("lease of A over", "failover: redis", ""),
	twoClients + strike("lease of A over", "reset: A to redis", ""),
	twoClients + strike("300ms before lease of A over", "reset: A to redis silently", "2 leases"),
	twoClients + strike("key on redis", "powerloss: redis torn", "300ms after A granted or 2 leases"),
	twoClients + strike("2 queued", "disk: redis stall 2s", "2 leases"),
	twoClients + strike("message from A to redis", "slow: A to redis 50ms±10ms 100kB/s", "2 leases"),
	twoClients + strike("quiet 200ms", "loss: A to redis 20%", "2 leases") + more("A's read", "pause: servers", "2 leases"),
	twoClients + strike("A's write has got answer 1 from register", "deliver: 1 from A to redis", "") + more("pause of A on", "kill: A", "at once") + more("start", "pause: A", "before B's write") + more("start", "cut: A to redis", "key gone on redis and redis2 within 10s as it does where a lease ends"),
	"timeout: 15s\nignore-lost: true\nclients:\n  A: await redis and redis2 synced, acquire, await 2nd pause of A over or 300ms, await after A's write within 10 leases, write\n" + strike("start", "pause: A", "A done") + more("start", "pause: A, redis", "2 leases") + "count:\n  - what: wake-ups\n    when: before A's write\n    until: A done\n",
	twoClients + "expect:\n  redis: {not: [granted-early, deadlock]}\n",
	twoClients + "expect:\n  redis: {must: [stale-write], not: [granted-early]}\n",
	twoClients + "count:\n  - what: wake-ups\n    when: before A's write\n    until: B done\nexpect:\n  redis:\n    none: [stale-write]\n    write: {must: valid, may: [lost-update], counts: {wake-ups: 8}}\n    \"*\": valid\n",
	twoClients + strike("start", "cut: A to redis", "\"key gone on redis within 10s as in: a lease that ends #1\""),
	"clients:\n  A: \"acquire, await quiet 200ms within 1s as noted: it is over\"\n",
	twoClients + strike("quiet 200ms", "flap: A from redis 200ms", "2 leases"),
	"clients:\n  A: acquire shared, read, release, acquire shared within 0.3 leases, read\n",
	"clients:\n  A: acquire, write, release, acquire key 2, write\n  B: acquire key 2 within 0.3 leases, write\n",
	"bound: 3s\nignore-lost: true\nreplay: \"9 of 10\"\noptions:\n  \"n\": \"1\"\nclients:\n  A: acquire, renew, renew for 8 leases, check, work 1 lease, await quiet 200ms, add\n",
}

func strike(when, fault, until string) string { return "faults:\n" + more(when, fault, until) }

func more(when, fault, until string) string {
	text := "  - when: " + when + "\n    " + fault + "\n"
	if until != "" {
		text += "    until: " + until + "\n"
	}
	return text
}

// What is read is written as it was.
func TestSchedules(t *testing.T) {
	for _, text := range schedules {
		s, err := Parse("mine.yaml", []byte(scheduleHead+text))
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		whole(t, s)
		if _, body, _ := strings.Cut(string(s.Write()), "\nclients:"); !strings.HasSuffix(text, "clients:"+body) {
			t.Errorf("read\n%s\nwritten\n%s", text, body)
		}
	}
}

// Write writes every field, and texts that YAML would take for something else.
func TestWriteSchedule(t *testing.T) {
	s, err := Parse("mine.yaml", []byte("name: x\nabout: 'a: \"b\" # c'\nsource: https://example.org/#x\nlocks: [redis, 'exec:./my lock', 'yes']\nfencing: [none, write]\ncluster: redis-5\nruntime: local\nttl: 1s\nbound: 3s\nignore-lost: true\nreplay: 100 of 100\noptions: {on: 'off', n: '1'}\nclients:\n  A: acquire\nexpect:\n  redis: [stale-write]\n  '*': {must: valid, may: [lost-update]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("mine.yaml", s.Write("why it is so", "two\nlines"))
	if err != nil {
		t.Fatalf("%v\n%s", err, s.Write())
	}
	if !strings.HasPrefix(string(again.Text), "# why it is so\n# two lines\nname: x\n") {
		t.Errorf("comments:\n%s", again.Text)
	}
	if string(again.Write()) != string(s.Write()) || again.About != s.About || again.Source != s.Source || len(again.Locks) != 3 || again.Locks[2] != "yes" ||
		len(again.Fencing) != 2 || again.Cluster != s.Cluster || again.Runtime != "local" || again.TTL != time.Second || again.Bound != 3*time.Second ||
		again.Replay != "100 of 100" || again.Extra["on"] != "off" || again.Extra["n"] != "1" || len(again.Expect) != len(s.Expect) {
		t.Errorf("read %+v\nafter %+v", again, s)
	}
}

func TestScheduleMistakes(t *testing.T) {
	program := func(text string) string { return scheduleHead + "clients:\n  A: " + text + "\n  B: acquire\n" }
	fault := func(when, fault, until string) string {
		return scheduleHead + twoClients + strike(when, fault, until)
	}
	tests := []struct{ name, text, want string }{
		{"misspelt move", program("acquire, writ"), `6: unknown move "writ": did you mean write?`},
		{"misspelt work", program("acquire, wrk 1 lease"), `6: unknown move "wrk 1 lease"`},
		{"no move", program("acquire, , write"), `6: unknown move ""`},
		{"never asks", program("read, write"), `6: this client never asks for the lock: give it an acquire`},
		{"no program", program(""), `6: want a text`},
		{"a program that is a list", program("[acquire, write]"), `6: want a text`},
		{"work for no time", program("acquire, work soon"), `6: work: "soon" is no length of time: want one like 1.3 leases or 500ms`},
		{"work for too long", program("acquire, work 11m"), `6: work: "11m" is no length of time: want one like 1.3 leases or 500ms, of at most 10m0s`},
		{"no leases", program("acquire, work 0 leases"), `6: work: "0" is no number of leases: want one like 1.3, of at most 100`},
		{"too many leases", program("acquire, work 101 leases"), `6: work: "101" is no number of leases`},
		{"leases that are none", program("acquire, work NaN leases"), `6: work: "NaN" is no number of leases`},
		{"work by the week", program("acquire, work 1 week"), `6: work: "1 week" is no length of time`},
		{"limit of no time", program("acquire within reason"), `6: acquire within: "reason" is no length of time`},
		{"a third key", program("acquire key 3"), `6: key "3": a client has two keys: acquire is for the first, acquire key 2 for the second`},
		{"a key of a release", program("acquire key 2, release key 2"), `6: unknown move "release key 2"`},
		{"a limit of the second key that is none", program("acquire key 2 within reason"), `6: acquire key 2 within: "reason" is no length of time`},
		{"limit of a write", program("acquire, write within 1s"), `6: `},
		{"awaits what cannot be", program("acquire, await the end"), `6: await: "the end" is nothing that can be awaited`},
		{"awaits a stranger", program("acquire, await C granted"), `6: client C is not among the scenario's clients`},
		{"client twice", scheduleHead + "clients:\n  A: acquire\n  A: acquire\n", `7: client A again`},
		{"bad name of a client", scheduleHead + "clients:\n  A: acquire\n  bob: acquire\n", `7: client "bob": want a capital letter`},
		{"a run beside programs", scheduleHead + twoClients + "run: {duration: 5s}\n", `1: scenario x has both clients that carry out programs and a run`},

		{"faults that are no list", scheduleHead + twoClients + "faults: {when: start, pause: A}\n", `8: faults: want a list`},
		{"a fault that is a text", scheduleHead + twoClients + "faults: [pause]\n", `8: a fault is a mapping: when, the fault, until`},
		{"no fault", fault("start", "", "1s"), `9: this entry has no fault (have pause, kill, cut`},
		{"misspelt fault", fault("start", "pasue: A", ""), `10: unknown fault "pasue": did you mean pause?`},
		{"two in one", fault("start", "pause: A\n    kill: A", ""), `11: kill beside pause: give each fault an entry of its own`},
		{"no trigger", scheduleHead + twoClients + "faults:\n  - pause: A\n", `9: pause: A: it does not say when, as when: before A's write`},
		{"when twice", fault("start", "pause: A\n    when: start", ""), `11: when again: a fault has one`},
		{"until twice", fault("start", "pause: A\n    until: 1s", "2s"), `12: until again: a fault has one`},
		{"an end of what is over", fault("start", "failover: redis", "1s"), `9: failover: redis: it is over as soon as it was done: leave out until`},
		{"an end of a reset", fault("start", "reset: A to redis", "1s"), `9: reset: A to redis: it is over as soon as it was done`},
		{"a stranger hit", fault("start", "pause: C", ""), `10: client C is not among the scenario's clients`},

		{"no event", fault("soon", "pause: A", ""), `9: await: "soon" is nothing that can be awaited`},
		{"a time alone", fault("2s", "pause: A", ""), `9: await: a time alone is no event`},
		{"an event or a time", fault("B granted or 2s", "pause: A", ""), `9: when: "B granted or 2s": a fault begins at an event, not after a time`},
		{"a move that is none", fault("before A's 2nd", "pause: A", ""), `9: when: "before A's 2nd": want a move of a client, as A's 2nd write`},
		{"a stranger's move", fault("before C's write", "pause: A", ""), `9: client C is not among the scenario's clients`},
		{"a move that is not in the program", fault("A's renew", "pause: A", ""), `9: A's program has no renew`},
		{"a misspelt move's trigger", fault("A's writ", "pause: A", ""), `9: A's program has no writ: did you mean write?`},
		{"too many moves", fault("A's 3rd write", "pause: A", ""), `9: A's program has 2 write, not 3`},
		{"the move before the first", fault("A's 0th write", "pause: A", ""), `9: "A's 0th write": count from 1`},
		{"no message", fault("A's write has sent message 0", "pause: A", ""), `9: "A's write has sent message 0": count from 1`},
		{"before a message", fault("before A's write has sent message 1", "pause: A", ""), `9: "before A's write has sent message 1": either before the move or a message of it`},

		{"an end of no time", fault("start", "pause: A", "soon"), `11: await: "soon" is nothing that can be awaited`},
		{"a limit of no time", fault("start", "pause: A", "B granted or soon"), `11: await: "soon" is no length of time`},
		{"an end at a stranger's", fault("start", "pause: A", "C granted or 1s"), `11: client C is not among the scenario's clients`},
		{"an end at a message", fault("start", "pause: A", "B's write has sent message 1"), `11: until: "B's write has sent message 1": a fault can end at a point of a program`},
		{"an end at a move that is not in the program", fault("start", "pause: A", "after B's renew"), `11: B's program has no renew`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("mine.yaml", []byte(tt.text))
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), "mine.yaml:"+tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q\nwant it to begin with %q", err, tt.want)
			}
		})
	}
}

func TestSpans(t *testing.T) {
	for text, want := range map[string]time.Duration{"1 lease": 400 * time.Millisecond, "1.5 leases": 600 * time.Millisecond, " 250ms ": 250 * time.Millisecond, "100 leases": 40 * time.Second} {
		s, err := parseSpan(text)
		if err != nil || s.Of(400*time.Millisecond) != want {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	for _, s := range []Span{{Leases: 1}, {Leases: 0.99999}, {Leases: 1.3}, {Leases: 1e-7}, {Leases: 99.99999}, {Fixed: time.Microsecond}} {
		text := s.String()
		again, err := parseSpan(text)
		if err != nil || again.String() != text {
			t.Errorf("%v is written %q, read as %v, %v", s, text, again, err)
		}
	}
	if (Span{Leases: 1}).String() != "1 lease" {
		t.Errorf("%q", Span{Leases: 1})
	}
}

func TestNewStrike(t *testing.T) {
	when := Trigger{At: Before, Client: "A", Do: "write", Nth: 1}
	st, err := NewTriggeredFault("hold: A to redis", when, Until{Await: AwaitClient("B", "granted"), Or: Span{Leases: 2}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := st.String(), "hold: A to redis when before A's write until B granted or 2 leases"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for fault, want := range map[string]string{"pasue: A": `unknown fault "pasue": did you mean pause?`, "resume: A": `unknown fault "resume"`, "hold: A": "hold: want two sides"} {
		if _, err := NewTriggeredFault(fault, when, Until{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", fault, err, want)
		}
	}
}

func TestOrdinals(t *testing.T) {
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 22: "22nd", 113: "113th"} {
		if got := ordinal(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
