package results

import (
	"fmt"
	"testing"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/workloads"
)

// longRun writes a record of n sections by two clients, with a fault and one anomaly in
// the middle.
func longRun(t *testing.T, n int) (*Dir, Run, checker.Verdict) {
	t.Helper()
	d, err := CreateAt(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var events []history.Event
	var effects []history.Effect
	add := func(e history.Event) int64 {
		e.Time = int64(len(events)) * 1e8
		events = append(events, e)
		return int64(len(events) - 1)
	}
	var evidence []int64
	for i := range n {
		who := fmt.Sprintf("c%d", i%2+1)
		grant := fmt.Sprintf("%s.%d", who, i/2+1)
		if i == n/2 {
			add(history.Event{Process: history.Nemesis, Type: history.Info, F: "pause", Phase: history.Begin, Nodes: []string{who}, Confirmed: true})
		}
		add(history.Event{Process: who, Type: history.Invoke, F: history.Acquire, Key: "k0"})
		ok := add(history.Event{Process: who, Type: history.OK, F: history.Acquire, Key: "k0", Grant: grant})
		add(history.Event{Process: who, Type: history.Invoke, F: history.Release, Key: "k0", Grant: grant})
		add(history.Event{Process: who, Type: history.OK, F: history.Release, Key: "k0", Grant: grant})
		effects = append(effects, history.Effect{Seq: int64(i + 1), Time: events[ok].Time, Process: who, F: history.Write, Key: "k0", Grant: grant, Version: int64(i + 1)})
		if i == n/2 {
			evidence = []int64{ok}
		}
	}
	if err := history.WriteFile(d.History(), events); err != nil {
		t.Fatal(err)
	}
	writeEffects(t, d, effects)
	v := checker.Verdict{Valid: checker.False, Properties: map[string]checker.Property{checker.Register: {Required: true, Valid: checker.False}},
		Anomalies: []checker.Anomaly{{Name: "stale-write", Property: checker.Register, Time: events[evidence[0]].Time, Events: evidence, Effects: []int64{int64(n/2 + 1)}}}}
	v.Stats.Events = len(events)
	return d, Run{Settings: workloads.Settings{Lock: "redis", TTL: 1}}, v
}

// TestExcerpt: a long run's report is drawn from a part that holds the evidence and what is
// around it, and of every section all or nothing; a short one's from everything.
func TestExcerpt(t *testing.T) {
	d, run, v := longRun(t, 2000)
	whole, err := readExcerpt(d, run, v, v.Stats.Events)
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.events) != v.Stats.Events || len(whole.effects) != 2000 {
		t.Errorf("%d events and %d effects of a run that is short enough", len(whole.events), len(whole.effects))
	}
	const limit = 1000
	x, err := readExcerpt(d, run, v, limit)
	if err != nil {
		t.Fatal(err)
	}
	if len(x.events) > limit || len(x.events) < limit/4 {
		t.Errorf("%d events, want about %d at most", len(x.events), limit)
	}
	steps, faults, proved, around := map[string]int{}, 0, false, 0
	for _, e := range x.events {
		if e.Process == history.Nemesis {
			faults++
		}
		if e.Grant != "" {
			steps[e.Grant]++
		}
		proved = proved || e.Index == v.Anomalies[0].Events[0]
		if e.Time >= v.Anomalies[0].Time-1e9 && e.Time <= v.Anomalies[0].Time+1e9 {
			around++
		}
	}
	if faults != 1 || !proved || around != 21 {
		t.Errorf("%d faults, the evidence is there: %t, %d events around it, want 21", faults, proved, around)
	}
	cut := 0
	for _, n := range steps {
		if n != 3 {
			cut++
		}
	}
	if cut > 4 { // at the edges of the windows
		t.Errorf("%d of %d sections are there in part", cut, len(steps))
	}
	seqs := map[int64]bool{}
	for _, e := range x.effects {
		seqs[e.Seq] = true
	}
	if !seqs[v.Anomalies[0].Effects[0]] || len(seqs) > limit/2 {
		t.Errorf("%d effects, the evidence among them: %t", len(seqs), seqs[v.Anomalies[0].Effects[0]])
	}
}
