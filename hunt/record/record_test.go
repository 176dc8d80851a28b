package record

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// recorded makes a history of lines "MS PROCESS DO [GRANT]", where DO is an act ("acquire",
// which has begun), its end ("acquired", "refused", "unknown", "written", ...) or a fault
// with "+" or "-" before its name, its nodes and its steps.
func recorded(t *testing.T, text string) []history.Event {
	t.Helper()
	ends := map[string]history.Event{
		"acquired": {F: history.Acquire, Type: history.OK}, "refused": {F: history.Acquire, Type: history.Fail}, "unknown": {F: history.Acquire, Type: history.Info},
		"was-read": {F: history.Read, Type: history.OK}, "written": {F: history.Write, Type: history.OK}, "released": {F: history.Release, Type: history.OK}, "renewed": {F: history.Renew, Type: history.OK},
	}
	var out []history.Event
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		ms, err := time.ParseDuration(words[0] + "ms")
		if err != nil {
			t.Fatal(err)
		}
		e := history.Event{Process: words[1], Type: history.Invoke, F: words[2], Key: "k0"}
		if end, ok := ends[words[2]]; ok {
			e.Type, e.F = end.Type, end.F
		}
		if len(words) > 3 {
			e.Grant = words[3]
		}
		if on := words[2][:1]; on == "+" || on == "-" {
			e = history.Event{Process: history.Nemesis, Type: history.Info, F: words[2][1:], Nodes: strings.Split(words[3], ","), Fault: strings.Join(words[4:], " "), Phase: history.Begin, Confirmed: true}
			if on == "-" {
				e.Phase, e.Confirmed, e.Fault = history.End, false, ""
			}
		}
		e.Index, e.Time = int64(len(out)), int64(ms)
		out = append(out, e)
	}
	return out
}

// of is a run on redis with leases of a second.
func of(events []history.Event) Run {
	return Run{Lock: "redis", Fencing: "none", Servers: []string{"redis"}, Clients: []string{"A", "B", "C"}, TTL: time.Second, Lease: 500 * time.Millisecond, Events: events}
}

// said is a schedule's programs and faults, a line each.
func said(s *scenarios.Scenario) string {
	_, text, _ := strings.Cut(string(s.Write()), "clients:\n")
	return text
}

const paused = `
	0    c9 acquire
	1    c9 acquired c9.1
	2    c9 release c9.1
	3    c9 released c9.1
	5    c7 acquire
	100  c3 acquire
	103  c3 acquired c3.1
	104  c3 read c3.1
	105  c3 was-read c3.1
	106  x  +pause c3 pause: c3
	1110 c7 acquired c7.1
	1111 c7 read c7.1
	1112 c7 was-read c7.1
	1160 c7 write c7.1
	1161 c7 written c7.1
	1162 c3 write c3.1
	1163 c3 written c3.1
	1164 x  -pause c3
	1165 c7 release c7.1
	1166 c7 released c7.1
	1167 c3 release c3.1
	1168 c3 released c3.1
`

func TestSchedules(t *testing.T) {
	late := verdict.Anomaly{Name: "stale-write", Key: "k0", Processes: []string{"c3", "c7"}, Grants: []string{"c3.1", "c7.1"}, Time: 1163e6, Events: []int64{6, 10, 16}}
	for _, x := range []struct {
		name, history string
		anomaly       verdict.Anomaly
		how           string // of the relaxation
		want          string
	}{
		{"a pause of the holder ends with what the other has done", paused, late, "", `  A: acquire, read, write, release
  B: await A granted or 3 leases, acquire, read, write, release
faults:
  - when: after A's read
    pause: A
    until: after B's write or 3.2 leases
`},
		{"a lease longer", paused, late, "with faults that last a lease longer", `  A: acquire, read, write, release
  B: await A granted or 3 leases, acquire, read, write, release
faults:
  - when: after A's read
    pause: A
    until: after B's write or 5.2 leases
`},
		{"one event later", paused, late, "with faults that are triggered one event later", `  A: acquire, read, write, release
  B: await A granted or 3 leases, acquire, read, write, release
faults:
  - when: before A's write
    pause: A
    until: after B's write or 3.2 leases
`},
		{"who asked first does not wait", paused, late, "with clients that ask for the lock as early as they did", `  A: acquire, read, write, release
  B: acquire, read, write, release
faults:
  - when: after A's read
    pause: A
    until: after B's write or 3.2 leases
`},
		{"a holder that thinks, a server that forgets, and a client that does not matter", `
	0    c1 acquire
	1    c1 acquired c1.1
	5    c2 acquire
	7    c4 acquire
	301  c1 write c1.1
	302  c1 written c1.1
	350  x  +kill redis kill: redis without data
	360  x  +clock c4 clock: c4 +4s
	420  x  -kill redis
	440  c2 acquired c2.1
	460  c1 release c1.1
	470  c1 released c1.1
`, verdict.Anomaly{Name: "granted-early", Key: "k0", Processes: []string{"c1", "c2"}, Grants: []string{"c1.1", "c2.1"}, Time: 440e6, Events: []int64{1, 9}}, "", `  A: acquire, work 0.3 leases, write, await B granted or 3 leases, release
  B: await A granted or 3 leases, acquire, release
faults:
  - when: after A's write
    kill: redis without data
    until: 0.1 leases
`},
		{"a clock in leases of the schedule, on each server, at the act that is under way", `
	0    c1 acquire
	3    x  +clock redis,c1 clock: redis +4s; clock: c1 +4s
	90   c1 acquired c1.1
	95   c2 acquire
	99   c2 acquired c2.1
	100  x  -clock redis,c1
	120  c1 write c1.1
`, verdict.Anomaly{Name: "granted-early", Key: "k0", Processes: []string{"c1", "c2"}, Grants: []string{"c1.1", "c2.1"}, Time: 99e6, Events: []int64{0, 4}}, "", `  A: acquire, await B granted or 3 leases, write, release
  B: await A granted or 3 leases, acquire, release
faults:
  - when: A's acquire
    clock: redis +2s
    until: B granted or 1.2 leases
  - when: A's acquire
    clock: A +2s
    until: B granted or 1.2 leases
`},
		{"an acquire of which nobody knows, and one that was refused", `
	0    c1 acquire
	400  c1 unknown
	401  c1 acquire
	402  c1 refused
	500  c2 acquire
	510  c2 acquired c2.1
	520  c2 release c2.1
	530  c2 released c2.1
`, verdict.Anomaly{Name: "deadlock", Key: "k0", Processes: []string{"c1", "c2"}, Time: 530e6, Events: []int64{0, 7}}, "", `  A: acquire, release
  B: acquire within 0.4 leases
`},
		{"a stale write between another's read and write is given time for", `
	0    c1 acquire
	10   c1 acquired c1.1
	20   x  +pause c1 pause: c1
	1010 c2 acquire
	1020 c2 acquired c2.1
	1021 c2 read c2.1
	1022 c2 was-read c2.1
	1030 c1 write c1.1
	1031 x  -pause c1
	1032 c1 written c1.1
	1050 c2 write c2.1
`, verdict.Anomaly{Name: "stale-write", Key: "k0", Processes: []string{"c1", "c2"}, Grants: []string{"c1.1", "c2.1"}, Time: 1050e6, Events: []int64{1, 10}}, "", `  A: acquire, write, release
  B: await A granted or 3 leases, acquire, read, work 0.1 leases, write, release
faults:
  - when: after A's acquire
    pause: A
    until: after B's read or 3.2 leases
`},
		{"who does not hear of its grant asks again, and not before the other has the lock", `
	0    c2 acquire
	10   c1 acquire
	20   c1 acquired c1.1
	30   x  +kill redis kill: redis
	50   c2 unknown
	55   c2 acquire
	60   x  -kill redis
	70   c2 acquired c2.1
	80   c1 release c1.1
`, verdict.Anomaly{Name: "granted-early", Key: "k0", Processes: []string{"c1", "c2"}, Grants: []string{"c1.1", "c2.1"}, Time: 70e6, Events: []int64{2, 7}}, "", `  A: acquire, await B granted or 3 leases, release
  B: await A granted or 3 leases, acquire within 0.05 leases, acquire, release
faults:
  - when: after A's acquire
    kill: redis
    until: 0.1 leases
`},
	} {
		t.Run(x.name, func(t *testing.T) {
			tries, err := of(recorded(t, x.history)).Schedules([]verdict.Anomaly{x.anomaly})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(tries, func(y Try) bool { return y.How == x.how })
			if i < 0 {
				t.Fatalf("no schedule %q", x.how)
			}
			if got := said(tries[i].Schedule); got != x.want {
				t.Errorf("got\n%s\nwant\n%s", got, x.want)
			}
		})
	}
}

// What a client did in sections before the lock was last free is no part of it, nor what
// became of it after the violation in another section.
func TestWindow(t *testing.T) {
	before := `
	0 c3 acquire
	1 c3 acquired c3.0
	2 c3 write c3.0
	3 c3 written c3.0
	4 c3 release c3.0
	5 c3 released c3.0
`
	after := `
	1200 c3 acquire
	1201 c3 acquired c3.2
`
	events := recorded(t, before+paused+after)
	tries, err := of(events).Schedules([]verdict.Anomaly{{Name: "stale-write", Key: "k0", Grants: []string{"c3.1", "c7.1"}, Time: 1163e6, Events: []int64{12, 16, 22}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tries[0].Schedule.Programs["A"].String(), "acquire, read, write, release"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	seen := map[string]bool{}
	for _, x := range tries {
		text := said(x.Schedule)
		if seen[text] {
			t.Errorf("twice (%s):\n%s", x.How, text)
		}
		seen[text] = true
	}
}

// The earliest violation comes first, then those that fewer faults can have brought about.
func TestOrder(t *testing.T) {
	events := recorded(t, paused+`
	2000 c3 acquire
	2001 c3 acquired c3.2
	2002 x  +kill redis kill: redis
	2003 c7 acquire
	2004 c7 acquired c7.2
	2005 x  -kill redis
	3000 c3 acquire
	3001 c3 acquired c3.3
	3003 c7 acquire
	3004 c7 acquired c7.3
`)
	at := func(grants string, ms int64, first, last int64) verdict.Anomaly {
		return verdict.Anomaly{Name: "granted-early", Key: "k0", Grants: strings.Fields(grants), Time: ms * 1e6, Events: []int64{first, last}}
	}
	tries, err := of(events).Schedules([]verdict.Anomaly{at("c3.3 c7.3", 3004, 29, 31), at("c3.2 c7.2", 2004, 23, 26), at("c3.1 c7.1", 1163, 6, 16)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range tries[:3] {
		got = append(got, x.Schedule.About[len(x.Schedule.About)-7:]+x.How)
	}
	if want := []string{"1.163 s", "3.004 sviolation 2", "2.004 sviolation 3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNoSchedule(t *testing.T) {
	outOfTurn := recorded(t, "0 c1 acquire\n1 c1 acquired c1.1\n2 c1 acquire\n3 c1 acquired c1.2\n4 c1 release c1.1")
	outOfTurn[2].Mode, outOfTurn[3].Mode = history.Nested, history.Nested
	for name, x := range map[string]struct {
		events    []history.Event
		anomalies []verdict.Anomaly
		want      string
	}{
		"an outer entry first": {outOfTurn, nil, "c1 releases c1.1 at 0.004 s"},
		"an earlier version's": {recorded(t, strings.ReplaceAll(paused, "pause: c3", "")), nil, "repeat the run with this version"},
		"no lock":              {recorded(t, "0 c1 write c1.1"), nil, "take no lock"},
		"no violation":         {recorded(t, paused), nil, "no violation"},
		"nobody who took part": {recorded(t, paused), []verdict.Anomaly{{Name: "deadlock", Key: "k5"}}, "none of its clients"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := of(x.events).Schedules(x.anomalies)
			if !errors.Is(err, ErrNoSchedule) || !strings.Contains(err.Error(), x.want) {
				t.Errorf("got %v, want one of %q", err, x.want)
			}
		})
	}
}

// A client enters what it has, and shares what it had alone, where it did in the record.
func TestEntries(t *testing.T) {
	const early = `
	0    c1 acquire
	1    c1 acquired c1.1
	2    c1 acquire
	3    c1 acquired c1.2
	4    c1 read c1.2
	5    c1 was-read c1.2
	300  c1 release c1.2
	301  c1 released c1.2
	302  c2 acquire
	303  c2 acquired c2.1
	600  c1 release c1.1
	601  c1 released c1.1`
	for name, x := range map[string]struct{ second, grants, want string }{
		"nested": {history.Nested, "c1.1 c2.1", `  A: acquire, acquire, read, work 0.3 leases, release, await B granted or 3 leases, release
  B: await A granted or 3 leases, acquire, release
`},
		"downgrade": {history.Downgrade, "c1.2 c2.1", `  A: acquire, downgrade, read, work 0.3 leases, release
  B: await A granted or 3 leases, acquire, release
`},
	} {
		events := recorded(t, early)
		for i := range events[:4] {
			if i > 1 {
				events[i].Mode = x.second
			}
		}
		all, err := of(events).Schedules([]verdict.Anomaly{{Name: "granted-early", Key: "k0", Time: 303e6, Events: []int64{1, 3, 9}, Grants: strings.Fields(x.grants), Processes: []string{"c1", "c2"}}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := said(all[0].Schedule); got != x.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, x.want)
		}
	}
}

// A reader of a record is a reader of the schedule.
func TestReaders(t *testing.T) {
	events := recorded(t, `
	0    c1 acquire
	1    c1 acquired c1.1
	2    c2 acquire
	3    c2 acquired c2.1
	203  c2 release c2.1
	204  c2 released c2.1
	205  c3 acquire
	206  c3 acquired c3.1
	400  c1 release c1.1
	401  c1 released c1.1`)
	for i, e := range events {
		if e.F == history.Acquire && e.Process != "c3" {
			events[i].Mode = history.Shared
		}
	}
	all, err := of(events).Schedules([]verdict.Anomaly{{Name: "granted-early", Key: "k0", Time: 206e6, Grants: []string{"c1.1", "c3.1"}, Processes: []string{"c1", "c2"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := `  A: acquire shared, await C granted or 3 leases, release
  B: await A granted or 3 leases, acquire shared, work 0.2 leases, release
  C: await B granted or 3 leases, acquire, release
`
	if got := said(all[0].Schedule); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
