package hunt

import (
	"context"
	"testing"
	"time"

	"github.com/picklock/picklock/scenarios"
)

// quietly is a runner that has the machine to itself with another one.
type quietly struct {
	Runner
	alone Runner
}

func (q *quietly) RunAlone(ctx context.Context, s *scenarios.Scenario) (*Outcome, error) {
	return q.alone.Run(ctx, s)
}

// TestNeverGrantedBeforeFault: no lock is granted in runs whose fault never began. No fault is accused of it, however often it comes.
func TestNeverGrantedBeforeFault(t *testing.T) {
	on := target(1, 1, "pause")
	never := bug{anomaly: "deadlock", cause: neverGranted, needs: func(s *scenarios.Scenario) bool { return len(s.TriggeredFaults) > 0 }}
	r, err := New(Options{Target: on, Depth: 1, Strategy: Exhaustive, Time: 10 * time.Second}).Run(t.Context(), []Runner{&model{bugs: []bug{never}}})
	if err != nil {
		t.Fatal(err)
	}
	addsUp(t, r)
	if len(r.Counterexamples) > 0 || r.Busy == 0 {
		t.Errorf("%d counterexamples, %d runs discarded for what the machine did", len(r.Counterexamples), r.Busy)
	}
}

// TestNeverGrantedAtAll: a lock that grants nothing is not tried for as long as the search may last.
func TestNeverGrantedAtAll(t *testing.T) {
	on := target(1, 1, "pause")
	for _, all := range []bool{false, true} {
		never := bug{anomaly: "deadlock", cause: neverGranted, needs: func(s *scenarios.Scenario) bool { return all || len(s.TriggeredFaults) == 0 }}
		r, err := New(Options{Target: on, Depth: 1, Strategy: Exhaustive, Time: 10 * time.Second}).Run(t.Context(), []Runner{&model{bugs: []bug{never}, dead: all}})
		if err != nil {
			t.Fatal(err)
		}
		addsUp(t, r)
		if ended := r.Stopped == errUngranted.Error(); ended != all || all && (len(r.Counterexamples) != 1 || r.Runs > 10*enoughUngranted) {
			t.Errorf("%v: stopped %q after %d runs, %d counterexamples", all, r.Stopped, r.Runs, len(r.Counterexamples))
		}
	}
}

// TestNeverGrantedBesideOthers: no lock is granted in a program without a fault, while others run, and the lock is granted in those. It is accused if that
// comes with the machine to itself, too.
func TestNeverGrantedBesideOthers(t *testing.T) {
	on := target(1, 1, "pause")
	never := bug{anomaly: "deadlock", cause: neverGranted, needs: func(s *scenarios.Scenario) bool {
		return len(s.TriggeredFaults) == 0 && s.Programs["A"].String() == workloads(on)[1].programs[0].String()
	}}
	for _, alone := range []bool{false, true} {
		q := &quietly{&model{bugs: []bug{never}}, &model{}}
		if alone {
			q.alone = &model{bugs: []bug{never}}
		}
		r, err := New(Options{Target: on, Depth: 1, Strategy: Exhaustive, Time: 10 * time.Second}).Run(t.Context(), []Runner{q})
		if err != nil {
			t.Fatal(err)
		}
		addsUp(t, r)
		if got := len(r.Counterexamples) > 0; got != alone {
			t.Errorf("alone as well: %v: %d counterexamples", alone, len(r.Counterexamples))
		}
		if r.Busy == 0 {
			t.Error("no run was discarded for what the machine did")
		}
	}
}
