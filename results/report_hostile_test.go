package results

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

func TestReportOddHistories(t *testing.T) {
	long := strings.Repeat("n", 100_000)
	ok := history.Event{Index: 0, Time: 5, Process: "c1", Type: history.OK, F: history.Acquire, Key: "k", Grant: "c1.1"}
	for name, s := range map[string]sample{
		"one event":        {events: []history.Event{ok}},
		"one late event":   {events: []history.Event{{Time: math.MaxInt64, Process: "c1", Type: history.Info, F: history.Lost}}},
		"no effects":       func() sample { s := redisPaused(1); s.effects = nil; return s }(),
		"only a fault":     {events: []history.Event{{Time: 7, Process: history.Nemesis, Type: history.Info, F: "pause", Phase: history.Begin, Confirmed: true}}},
		"an end alone":     {events: []history.Event{{Time: 7, Process: history.Nemesis, Type: history.Info, F: "pause", Phase: history.End}, {Time: 9, Process: "c1", Type: history.OK, F: history.Release}}},
		"no lock, no keys": {events: []history.Event{{Time: 1, Process: "c1", Type: history.OK, F: history.Write}, {Time: 2, Process: "c1", Type: history.Fail, F: history.Write}}},
		"ages": {events: []history.Event{ok, {Index: 1, Time: math.MaxInt64, Process: "c2", Type: history.OK, F: history.Acquire, Grant: "c2.1", Since: math.MaxInt64, Lease: math.MaxInt64}},
			verdict: checker.Verdict{Valid: checker.False, Anomalies: []checker.Anomaly{{Name: "granted-early", Time: math.MinInt64, Events: []int64{0, 1, 77}, Effects: []int64{9}, Sizes: map[string]int64{"x": math.MinInt64}}}}},
		"long names": {run: Run{Settings: workloads.Settings{Lock: long, Faults: []string{long}}, Nodes: []Node{{Name: long, Role: long, Addr: long}}},
			events:  []history.Event{{Time: 1, Process: long, Type: history.OK, F: long, Key: long}, {Time: 2, Process: long, Type: history.OK, F: history.Acquire, Grant: long, Key: long}},
			verdict: checker.Verdict{Why: long, Anomalies: []checker.Anomaly{{Name: long, Explanation: long, Processes: []string{long}, Events: []int64{0}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range s.events {
				s.events[i].Index = int64(i)
			}
			page := render(t, s)
			d := embedded(t, page)
			if d.Span[1] < d.Span[0] || d.Span[1] > maxTime {
				t.Errorf("span %v", d.Span)
			}
			for _, bad := range []string{"NaN", "Inf"} {
				if strings.Contains(strings.ReplaceAll(page, reportJS, ""), bad) {
					t.Errorf("%s in the report", bad)
				}
			}
			if name == "ages" && *d.Holds[1].Lease != maxTime {
				t.Errorf("a lease without end ends at %v", *d.Holds[1].Lease)
			}
			if name == "ages" && (!strings.Contains(page, "event 77") || !strings.Contains(page, "is not in register.jsonl")) {
				t.Error("missing evidence is not named")
			}
			if len(page) > 400_000 {
				t.Errorf("%d bytes for a handful of events", len(page))
			}
		})
	}
}

const hostile = "</script></style></title><img onerror=alert(1) src=x><!--\x1b[31m\u202e'\"`"

// hostileSample has the worst string in every field that a history, a lock or a
// verdict can fill.
func hostileSample() sample {
	s := redisPaused(1)
	h := func(n int) string { return fmt.Sprint(hostile, n) }
	for i := range s.events {
		e := &s.events[i]
		e.Key, e.Value, e.Error, e.Detail = h(1), h(2), h(3), h(4)
		if e.Grant != "" {
			e.Grant += h(5)
		}
		if e.Process != history.Nemesis {
			e.Process += h(6)
		}
		for j := range e.Nodes {
			e.Nodes[j] += h(6)
		}
		if e.Process == history.Nemesis {
			e.F += h(7)
		}
	}
	for i := range s.effects {
		e := &s.effects[i]
		e.Process, e.Key, e.Value, e.Grant, e.Error, e.Parent = e.Process+h(6), h(1), h(2), e.Grant+h(5), h(8), h(9)
	}
	r := &s.run
	r.Lock, r.About, r.Cluster, r.Runtime, r.Workload, r.Fencing = h(10), h(11), h(12), h(13), h(14), h(15)
	r.Faults, r.Command, r.Require = []string{h(7) + ":" + h(7)}, []string{"run", h(16)}, []string{h(17)}
	r.Versions = map[string]string{h(18): h(19)}
	r.Machine = Machine{h(20), h(21), h(22), 1}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		n.Addr = h(23)
		if n.Role == roleClient {
			n.Name += h(6)
		} else {
			n.Name, n.Role = n.Name+h(24), n.Role+h(25)
		}
	}
	v := &s.verdict
	v.Why = h(26)
	v.Properties[h(27)] = checker.Property{Valid: checker.False, Why: h(28)}
	for i := range v.Anomalies {
		a := &v.Anomalies[i]
		a.Name, a.Key, a.Cause, a.Explanation, a.Faults = h(29), h(30), h(31), h(32), []string{h(7), "pause" + h(7)}
		for j := range a.Processes {
			a.Processes[j] += h(6)
		}
		for j := range a.Grants {
			a.Grants[j] += h(5)
		}
		a.Sizes = map[string]int64{h(33): 5}
	}
	v.Stats.Faults = map[string]checker.FaultCount{h(7): {Injected: 1}}
	return s
}

func TestReportHostileStrings(t *testing.T) {
	s := hostileSample()
	for _, valid := range []checker.Validity{checker.True, checker.False, checker.Unknown} {
		s.verdict.Valid = valid
		page := render(t, s)
		for _, bad := range []string{"<img", "</script></style>", "\x1b", "\u202e"} {
			if strings.Contains(page, bad) {
				i := strings.Index(page, bad)
				t.Errorf("%v: %q reached the page: %q", valid, bad, page[max(0, i-80):min(len(page), i+80)])
			}
		}
		if n := strings.Count(page, "</script"); n != 2 {
			t.Errorf("%d script ends, want 2", n)
		}
		if n := strings.Count(page, "</style"); n != 1 {
			t.Errorf("%d style ends, want 1", n)
		}
		if strings.Contains(page, "ZgotmplZ") {
			t.Error("the template refused a value")
		}
		// Escaped, not dropped.
		if !strings.Contains(page, "&lt;img onerror") {
			t.Error("the strings are not shown at all")
		}
		if d := embedded(t, page); !strings.Contains(d.Tracks[0].Name, "</script></style></title><img onerror=alert(1) src=x><!--") {
			t.Errorf("track name did not survive: %q", d.Tracks[0].Name)
		}
	}
}
