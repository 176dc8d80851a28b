package hunt

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/picklock/picklock/checker/verdict"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/scenarios"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bug is planted in a model: it shows itself in the schedules that have what it needs.
type bug struct {
	anomaly, cause string
	needs          func(s *scenarios.Scenario) bool
}

// model runs schedules as a lock with such bugs would, without a lock.
type model struct {
	bugs      []bug
	rate      float64        // of the runs in which bugs show, where they can; 0: all
	rng       *rand.Rand     // with rate
	dead      bool           // nobody ever gets the lock
	busy      map[string]int // of so many runs of a schedule the machine is too busy; "" for any
	discarded func(s *scenarios.Scenario) (of, why string, cannot bool)
	lacks     string // the act that the lock cannot do

	mu     sync.Mutex
	played []string
	seen   map[string]int // busy runs
	after  func(runs int)
}

func (m *model) Run(_ context.Context, s *scenarios.Scenario) (*Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := key(s)
	m.played = append(m.played, k)
	if m.after != nil {
		m.after(len(m.played))
	}
	limit, ok := m.busy[k]
	if !ok {
		limit = m.busy[""]
	}
	if m.seen == nil {
		m.seen = map[string]int{}
	}
	if m.seen[k] < limit {
		m.seen[k]++
		return &Outcome{Busy: true, Discarded: "busy"}, nil
	}
	out := &Outcome{Took: time.Millisecond, Verdict: verdict.Verdict{Valid: verdict.True, Properties: map[string]verdict.Property{}}}
	if m.discarded != nil {
		out.FailedFault, out.Discarded, out.Unsupported = m.discarded(s)
	}
	if m.lacks != "" && slices.Contains(actsOf(s), m.lacks) {
		out.Cannot, out.Discarded = m.lacks, "no such act"
	}
	if !m.dead {
		out.Events = []history.Event{{Process: "A", Type: history.OK, F: history.Acquire, Key: "k", Time: 1}}
	}
	for i, b := range m.bugs {
		if !b.needs(s) || m.rate > 0 && m.rng.Float64() >= m.rate {
			continue
		}
		j := slices.IndexFunc(verdict.Anomalies(), func(k verdict.AnomalyInfo) bool { return k.Name == b.anomaly })
		property := verdict.Anomalies()[j].Property
		out.Verdict.Properties[property] = verdict.Property{Valid: verdict.False, Required: true, Anomalies: 1}
		out.Verdict.Valid = verdict.False
		out.Verdict.Anomalies = append(out.Verdict.Anomalies, verdict.Anomaly{
			Name: b.anomaly, Property: property, Cause: b.cause, Key: string(rune('a' + i)), Explanation: b.anomaly + " was proved",
		})
	}
	return out, nil
}

// struck says that a fault of the kind falls on the node.
func struck(word, node string) func(s *scenarios.Scenario) bool {
	return func(s *scenarios.Scenario) bool {
		return slices.ContainsFunc(s.TriggeredFaults, func(st scenarios.TriggeredFault) bool {
			return st.Fault.Word == word && (node == "" || slices.Contains(st.Fault.Nodes, node))
		})
	}
}

func both(a, b func(s *scenarios.Scenario) bool) func(s *scenarios.Scenario) bool {
	return func(s *scenarios.Scenario) bool { return a(s) && b(s) }
}

// target is a lock with so many servers.
func target(servers, permits int, kinds ...string) Target {
	t := Target{Lock: "model", Fencing: "none", TTL: 250 * time.Millisecond, Bound: 2 * time.Second, Permits: permits, Kinds: kinds}
	names := []string{"s1", "s2", "s3", "s4", "s5"}
	t.Servers = names[:servers]
	if servers == 1 {
		t.Servers = []string{"redis"}
	}
	return t
}

// search runs the model to the end of the space.
func search(t *testing.T, m *model, o Options, runners int) (*Search, *Result) {
	t.Helper()
	if o.Time == 0 {
		o.Time = time.Minute
	}
	if o.Strategy == "" {
		o.Strategy = Exhaustive
	}
	h := New(o)
	all := make([]Runner, runners)
	for i := range all {
		all[i] = m
	}
	r, err := h.Run(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	addsUp(t, r)
	return h, r
}

// addsUp is what every hunt must keep.
func addsUp(t *testing.T, r *Result) {
	t.Helper()
	if err := r.CheckCoverage(); err != nil {
		t.Error(err)
	}
}

// points counts the space.
func points(t Target, depth int) int {
	n := 0
	for range space(t, depth) {
		n++
	}
	return n
}

func counterexampleNames(r *Result) []string {
	var out []string
	for _, w := range r.Counterexamples {
		out = append(out, w.String())
	}
	slices.Sort(out)
	return out
}

func text(s *scenarios.Scenario) string {
	return strings.TrimSpace(string(s.Write()))
}
