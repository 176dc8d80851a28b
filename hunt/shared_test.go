package hunt

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// board is a corpus that searches of one process have together.
type board struct {
	mu     sync.Mutex
	gains  []Gain
	posted int
}

func (b *board) Publish(g Gain) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.posted++
	b.gains = append(b.gains, g)
}

func (b *board) Take() []Gain {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.gains
	b.gains = nil
	return out
}

func TestSharedCorpus(t *testing.T) {
	on := target(1, 1)
	b := &board{}
	search(t, &model{}, Options{Target: on, Depth: 0, Strategy: Guided, Time: 200 * time.Millisecond, CorpusSync: b}, 1)
	if b.posted == 0 {
		t.Fatal("nothing was offered")
	}
	s := on.schedule(workloads(on)[1])
	c := newCorpus()
	c.add(on.schedule(workloads(on)[0]), feedback{states: []uint64{1, 2}, margins: map[string]float64{"exclusion": 0.5}})
	c.merge(Gain{Schedule: string(s.Write()), States: []uint64{2}, Margins: map[string]float64{"exclusion": 0.49}})
	if len(c.entries) != 1 {
		t.Fatal("what is not new here was taken")
	}
	c.merge(Gain{Schedule: "no scenario", States: []uint64{7}})
	c.merge(Gain{Schedule: string(s.Write()), States: []uint64{2, 3}, Margins: map[string]float64{"exclusion": 0.1}})
	if len(c.entries) != 2 || !c.entries[1].proven || !slices.Equal(c.entries[1].gained, []uint64{3}) || c.archives["exclusion"].entry != c.entries[1] || c.states[7] {
		t.Fatalf("taken: %+v", c.entries)
	}
}

// A counterexample that another worker has found is not confirmed again; another one is.
func TestCounterexamplesKnownElsewhere(t *testing.T) {
	m := &model{bugs: []bug{{"granted-early", "clock", struck("pause", "A")}, {"wrong-release", "", struck("kill", "A")}}}
	o := Options{Target: target(1, 1, "pause", "kill"), Depth: 1, FoundElsewhere: []Signature{
		{Anomaly: "granted-early", Cause: "clock", Kinds: []string{"a pause of a client"}},
		{Anomaly: "granted-early", Cause: "clock", Kinds: []string{"a pause of a client"}, InAcquire: true},
	}}
	_, r := search(t, m, o, 1)
	if got := counterexampleNames(r); !slices.Equal(got, []string{"wrong-release by a crash of a client", "wrong-release by a crash of a client during an acquire"}) {
		t.Fatalf("counterexamples %q", got)
	}
	o.FoundElsewhere = []Signature{{Anomaly: "granted-early", Cause: "clock", Kinds: []string{"a cut of a client"}}}
	if _, r := search(t, m, o, 1); len(r.Counterexamples) != 4 {
		t.Fatalf("counterexamples %q, want all: what is known takes something else", counterexampleNames(r))
	}
}
