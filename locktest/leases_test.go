package locktest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/locktest"
)

// whole asks the service for whole seconds, and promises what it was asked for.
type whole struct {
	*mine
	asked time.Duration
}

func openWhole(ctx context.Context, o clients.Options) (clients.Lock, error) {
	asked := o.TTL
	o.TTL = max(time.Second, o.TTL.Truncate(time.Second))
	l, err := openMine(ctx, o)
	if err != nil {
		return nil, err
	}
	return whole{l.(*mine), asked}, nil
}

func (w whole) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g, err := w.mine.Acquire(ctx, key)
	if err == nil {
		g.Lease = w.asked
	}
	return g, err
}

func TestInnerHuntWhole(t *testing.T) {
	onlyInner(t)
	locktest.Hunt(t, openWhole, locktest.HuntOptions{Cluster: "redis", Faults: []string{"none"}, Find: []string{"granted-early"}, Limit: 10 * time.Second, Out: os.Getenv(outEnv)})
}

// TestHuntTriesOtherLeases: a lock that drops what is beyond the second keeps to a lease of
// 250 ms, which is what a hunt takes by itself, and breaks with one of 1.5 s.
func TestHuntTriesOtherLeases(t *testing.T) {
	t.Parallel()
	if locktest.Child() {
		t.Skip("a part of another test")
	}
	if testing.Short() {
		t.Skip("it takes two minutes")
	}
	needRedis(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	said, code := inner(t, self, "TestInnerHuntWhole", func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, outEnv+"="+out)
	})
	if code != 1 || !strings.Contains(said, "lock bug: overlapping leases (granted-early) (ended-early) — by a lease of 1.5s: ") || strings.Count(said, "scenario: ") != 1 {
		t.Errorf("exit code %d, want 1 and one counterexample, by a lease of 1.5s:\n%s", code, said)
	}
	r := readHunt(t, out)
	if len(r.Counterexamples) != 1 || !strings.Contains(r.Counterexamples[0].Schedule, "\nttl: 1.5s\n") || !r.Counterexamples[0].Steady() {
		t.Errorf("the counterexamples: %+v", r.Counterexamples)
	}
}
