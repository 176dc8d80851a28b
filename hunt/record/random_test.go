package record

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

// drawn is a run that somebody's clients could have made: each does one thing at a time, and
// faults come and go beside them.
func drawn(t *rapid.T) Run {
	type client struct {
		name, grant, under string // under: what it has asked for
		grants             int
	}
	clients := make([]client, rapid.IntRange(1, 5).Draw(t, "clients"))
	for i := range clients {
		clients[i].name = fmt.Sprintf("c%d", i+1)
	}
	faulty := []history.Event{
		{F: "pause", Nodes: []string{"c1"}, Fault: "pause: c1"},
		{F: "pause", Nodes: []string{"s2", "c2"}, Fault: "pause: s2, c2"},
		{F: "kill", Nodes: []string{"c2"}, Fault: "kill: c2"},
		{F: "kill", Nodes: []string{"s1"}, Fault: "kill: s1 without data"},
		{F: "clock", Nodes: []string{"s1", "c3"}, Fault: "clock: s1 -4s; clock: c3 -4s"},
		{F: "partition", Nodes: []string{"c1"}, Fault: "cut: c1 from s1, s2"},
		{F: "hold", Nodes: []string{"c3", "register"}, Fault: "hold: c3 to register"},
		{F: "failover", Nodes: []string{"s2"}, Fault: "failover: s2"},
		{F: "reset", Nodes: []string{"c1"}, Fault: "reset: c1 to s1, s2"},
		{F: "slow", Nodes: []string{"c4"}, Fault: "slow: c4 from s1, s2 50ms±10ms"},
		{F: "moonshine", Nodes: []string{"c4"}, Fault: "moonshine: c4"},
	}
	on := map[int]bool{}
	r := of(nil)
	r.Servers = []string{"s1", "s2"}
	r.CheckLease = rapid.Bool().Draw(t, "check")
	now := int64(0)
	emit := func(e history.Event) {
		now += rapid.Int64Range(0, int64(500*time.Millisecond)).Draw(t, "gap")
		e.Time, e.Index = now, int64(len(r.Events))
		r.Events = append(r.Events, e)
	}
	for range rapid.IntRange(0, 60).Draw(t, "events") {
		if rapid.IntRange(0, 5).Draw(t, "who") == 0 {
			i := rapid.IntRange(0, len(faulty)-1).Draw(t, "fault")
			e := faulty[i]
			e.Process, e.Type, e.Phase, e.Confirmed = history.Nemesis, history.Info, history.Begin, !on[i]
			if on[i] {
				e.Phase = history.End
			}
			on[i] = !on[i]
			emit(e)
			continue
		}
		c := &clients[rapid.IntRange(0, len(clients)-1).Draw(t, "client")]
		switch {
		case c.under == history.Acquire:
			e := history.Event{Process: c.name, F: c.under, Key: "k0", Type: rapid.SampledFrom([]history.Type{history.OK, history.OK, history.Fail, history.Info}).Draw(t, "outcome")}
			if e.Type == history.OK {
				c.grants++
				c.grant = fmt.Sprintf("%s.%d", c.name, c.grants)
				e.Grant = c.grant
			}
			c.under = ""
			emit(e)
		case c.under != "":
			emit(history.Event{Process: c.name, F: c.under, Key: "k0", Grant: c.grant, Type: history.OK})
			if c.under == history.Release {
				c.grant = ""
			}
			c.under = ""
		case c.grant == "":
			c.under = history.Acquire
			emit(history.Event{Process: c.name, F: c.under, Key: "k0", Type: history.Invoke})
		default:
			c.under = rapid.SampledFrom([]string{history.Read, history.Write, history.Renew, history.Release, history.Release}).Draw(t, "act")
			emit(history.Event{Process: c.name, F: c.under, Key: "k0", Grant: c.grant, Type: history.Invoke})
		}
	}
	return r
}

// Whatever a record holds and wherever a violation of it is said to be, what is built from it
// can be read as a scenario with every fault that has words, within what a run may take.
func TestAnyRecord(t *testing.T) {
	built := 0
	rapid.Check(t, func(t *rapid.T) {
		r := drawn(t)
		var grants []string
		a := verdict.Anomaly{Name: "granted-early", Key: "k0"}
		for _, e := range r.Events {
			if e.F == history.Acquire && e.Type == history.OK {
				grants = append(grants, e.Grant)
			}
		}
		for range min(len(grants), 2) {
			g := rapid.SampledFrom(grants).Draw(t, "grant")
			process, _, _ := strings.Cut(g, ".")
			a.Grants, a.Processes = append(a.Grants, g), append(a.Processes, process)
		}
		if len(r.Events) > 0 {
			a.Events = []int64{rapid.Int64Range(0, int64(len(r.Events)-1)).Draw(t, "first"), rapid.Int64Range(0, int64(len(r.Events)-1)).Draw(t, "last")}
			a.Time = r.Events[a.Events[0]].Time
		}
		faults, odd := r.faults()
		if strings.Contains(odd, "moonshine") != strings.Contains(fmt.Sprint(r.Events), "moonshine") && odd != "" {
			t.Errorf("left out: %q", odd)
		}
		for _, l := range relaxations {
			s, err := r.build(a, l, faults)
			if err != nil {
				if !strings.Contains(err.Error(), "none of its clients") {
					t.Fatalf("%s: %v", l.how, err)
				}
				continue
			}
			built++
			again, err := scenarios.Parse("again.yaml", s.Write())
			if err != nil || string(again.Write()) != string(s.Write()) {
				t.Fatalf("%s: %v\n%s", l.how, err, s.Write())
			}
			if len(s.Clients) > len(r.Clients) {
				t.Fatalf("%d clients", len(s.Clients))
			}
			for _, st := range s.TriggeredFaults {
				if st.Until.Or.Leases > mostLeases {
					t.Fatalf("%s", st)
				}
			}
		}
	})
	if built == 0 {
		t.Error("nothing was ever built")
	}
}
