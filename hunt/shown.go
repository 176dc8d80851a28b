package hunt

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/picklock/picklock/scenarios"
)

// shown counts the anomalies that the runs of one schedule showed of a signature: what is expected
// of a schedule is what its own runs showed, not those of a larger one.
type shown struct {
	mu       sync.Mutex
	names    map[string]int
	evidence *Evidence // see last
}

// by is a runner whose runs are counted.
func (x *shown) by(p Runner, sig Signature) Runner {
	return watch{p, func(out *Outcome) {
		names, e := anomaliesOf(out, sig), evidenceOf(out, sig)
		x.mu.Lock()
		defer x.mu.Unlock()
		if e != nil && (x.evidence == nil || e.Anomaly.Cause == sig.Cause || x.evidence.Anomaly.Cause != sig.Cause) {
			x.evidence = e
		}
		for _, name := range names {
			if x.names == nil {
				x.names = map[string]int{}
			}
			x.names[name]++
		}
	}}
}

// list are the anomalies, those of the most runs first.
func (x *shown) list() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.SortedFunc(maps.Keys(x.names), func(a, b string) int {
		return cmp.Or(x.names[b]-x.names[a], strings.Compare(a, b))
	})
}

// last is what proved it in the last run that showed it, if there is one with the cause that not every run tells; nil: none did.
func (x *shown) last() *Evidence {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.evidence
}

// watch is a runner that shows each run that counts to its caller.
type watch struct {
	Runner
	saw func(*Outcome)
}

func (w watch) Run(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
	out, err := w.Runner.Run(ctx, s)
	if err == nil && !out.Busy {
		w.saw(out)
	}
	return out, err
}
