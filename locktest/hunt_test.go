package locktest_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/hunt"
	huntreport "github.com/picklock/picklock/hunt/report"
	"github.com/picklock/picklock/locktest"
)

// outEnv and replayEnv tell a test that fails on purpose where its results go, and which
// scenario to run.
const (
	outEnv    = "PICKLOCK_LOCKTEST_OUT"
	replayEnv = "PICKLOCK_LOCKTEST_REPLAY"
)

// readHunt reads hunt.json below a folder of results.
func readHunt(t *testing.T, out string) (r hunt.Result) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, "hunt", huntreport.ResultFile))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// noting is a lock that notes in the service which clients have used a key.
type noting struct{ *mine }

const notes = "clients-of:"

func openNoting(ctx context.Context, o clients.Options) (clients.Lock, error) {
	l, err := openMine(ctx, o)
	if err != nil {
		return nil, err
	}
	return noting{l.(*mine)}, nil
}

func (n noting) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	if err := n.db.SAdd(ctx, notes+key, os.Getpid()).Err(); err != nil {
		return clients.Grant{}, err
	}
	return n.mine.Acquire(ctx, key)
}

// checkNotes: on servers that all share, each set of clients has keys of its own: those that ever asked
// for one key are at most as many as a schedule has.
func checkNotes(t *testing.T, addr string) {
	t.Helper()
	db := redis.NewClient(&redis.Options{Addr: addr})
	defer db.Close()
	keys, err := db.Keys(t.Context(), notes+"*").Result()
	if err != nil {
		t.Fatal(err)
	}
	var sets [][]string
	for _, k := range keys {
		set, err := db.SMembers(t.Context(), k).Result()
		if err != nil {
			t.Fatalf("%s: %v", k, err)
		}
		sets = slices.DeleteFunc(sets, func(o []string) bool {
			met := slices.ContainsFunc(o, func(c string) bool { return slices.Contains(set, c) })
			if met {
				set = append(set, o...)
			}
			return met
		})
		slices.Sort(set)
		sets = append(sets, slices.Compact(set))
	}
	const most = 5 // clients of a schedule
	if len(sets) < 2 || slices.ContainsFunc(sets, func(s []string) bool { return len(s) > most }) {
		t.Errorf("keys were shared by the clients %v; want several sets of at most %d", sets, most)
	}
}

// TestHuntHolds: locks that are right are accused of nothing, and were run.
func TestHuntHolds(t *testing.T) {
	const mostUnderWay = 4
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	needRedis(t)
	var addr string
	if !locktest.Child() {
		addr = startRedis(t)
	}
	for name, x := range map[string]struct {
		open locktest.Open
		o    locktest.HuntOptions
	}{
		"fenced":  {openTool("redis-lua"), locktest.HuntOptions{Cluster: "redis", Fencing: "read-write", Faults: []string{"pause:client", "kill:client", "hold"}, Depth: 1}},
		"release": {openMine, locktest.HuntOptions{Cluster: "redis", Find: []string{"wrong-release"}}},
		"servers": {openNoting, locktest.HuntOptions{Servers: []string{addr}, Find: []string{"wrong-release", "granted-early"}, Faults: []string{"none"}}},
	} {
		t.Run(name, func(t *testing.T) {
			x.o.TTL, x.o.Limit, x.o.Out = 500*time.Millisecond, 8*time.Second, t.TempDir()
			locktest.Hunt(t, x.open, x.o)
			r := readHunt(t, x.o.Out)
			// Seven of the programs come after each fault's first turn, for which there may be no time. On a slow machine others are still under way
			// when the time is over.
			d := r.Depths[0]
			if r.Runs-r.Discarded < 6 || d.NotReached > 7+mostUnderWay || r.TTL != int64(x.o.TTL) || x.o.Fencing != "" && r.Fencing != x.o.Fencing {
				t.Errorf("%d runs, %d discarded, without faults %+v; a lease of %v, fencing %s", r.Runs, r.Discarded, d, time.Duration(r.TTL), r.Fencing)
			}
			if x.o.Servers != nil {
				checkNotes(t, addr)
			}
		})
	}
}

// TestInnerHuntFinds: what openPlain does wrong shows itself without any fault.
func TestInnerHuntFinds(t *testing.T) {
	onlyInner(t)
	locktest.Hunt(t, openPlain, locktest.HuntOptions{Cluster: "redis", Faults: []string{"none"}, Find: []string{"wrong-release"}, Limit: 3 * time.Second, Out: os.Getenv(outEnv)})
}

// TestInnerReplay runs what was found on the lock with the mistake, and on its control
// without. Of the latter so small a schedule may prove nothing; and where a client holds the
// lock for longer than its lease, or this machine stalls, a write of its may come too late: that
// follows from any lease. What must not come is the release of another's lock.
func TestInnerReplay(t *testing.T) {
	onlyInner(t)
	file := os.Getenv(replayEnv)
	o := locktest.Options{Cluster: "redis", Scenarios: []string{file}, Expect: map[string][]string{strings.TrimSuffix(filepath.Base(file), ".yaml"): {}}}
	for name, open := range map[string]locktest.Open{"plain": openPlain, "mine": openMine} {
		o.Out = filepath.Join(os.Getenv(outEnv), name)
		t.Run(name, func(t *testing.T) { locktest.Run(t, open, o) })
	}
}

// TestHuntFinds: the counterexample is told, and what is told runs it again.
func TestHuntFinds(t *testing.T) {
	t.Parallel()
	if locktest.Child() {
		t.Skip("a part of another test")
	}
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	needRedis(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	said, code := inner(t, self, "TestInnerHuntFinds", func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, outEnv+"="+out)
		cmd.Args = append(cmd.Args, "-test.timeout=8m") // it ends before that, however much there is to make small
	})
	counterexample := filepath.Join(out, "hunt", "counterexamples", "counterexample-1-wrong-release.yaml")
	for _, s := range []string{
		"--- FAIL: TestInnerHuntFinds", "lock bug: wrong-release — no fault injected: ", " released at ", " the lock that ", "scenario: " + counterexample + "\n", "report: " + filepath.Join(out, "hunt", "hunt.html") + "\n",
	} {
		if code != 1 || !strings.Contains(said, s) {
			t.Errorf("exit code %d, or it does not say %q", code, s)
		}
	}
	if strings.Count(said, "scenario: ") != 1 {
		t.Error("want one counterexample")
	}
	r := readHunt(t, out)
	if strings.Join(r.Command, " ") != "go test -run ^TestInnerHuntFinds$" || !strings.Contains(r.Replay, "locktest.Run(") {
		t.Errorf("it is said to be done again by %q, a counterexample by %q", r.Command, r.Replay)
	}
	page, err := os.ReadFile(filepath.Join(out, "hunt", huntreport.PageFile))
	if err != nil || !strings.Contains(string(page), "counterexample-1-wrong-release&#34;: {}") {
		t.Errorf("%v, or the page does not say how a counterexample is run again", err)
	}
	if t.Failed() {
		t.Fatal(said)
	}
	replays := t.TempDir()
	for lock, breaks := range map[string]bool{"plain": true, "mine": false} {
		said, code := inner(t, self, "TestInnerReplay$/^"+lock, func(cmd *exec.Cmd) {
			cmd.Env = append(cmd.Env, replayEnv+"="+counterexample, outEnv+"="+replays)
		})
		// If this machine stalls while C asks, nobody can say whether A's release came before C's grant.
		broke := strings.Contains(said, "wrong-release: ") || strings.Contains(said, "granted-early: ")
		if broke == breaks && (code == 1 || !breaks) && strings.Contains(said, "RUN   TestInnerReplay/"+lock+"/") {
			continue
		}
		scenario, _ := os.ReadFile(counterexample)
		events, _ := filepath.Glob(filepath.Join(replays, lock, "*", "history.jsonl"))
		for _, file := range events {
			text, _ := os.ReadFile(file)
			said += "\n" + string(text)
		}
		t.Errorf("%s: exit code %d, broke: %v; want %v\n%s\n%s", lock, code, broke, breaks, scenario, said)
	}
}

func TestInnerHuntPanics(t *testing.T) {
	onlyInner(t)
	locktest.Hunt(t, openPanics, locktest.HuntOptions{Cluster: "none", Limit: 5 * time.Second})
}

func TestInnerHuntNeverComes(t *testing.T) {
	onlyInner(t)
	if locktest.Child() {
		t.Skip("not here")
	}
	locktest.Hunt(t, openMine, locktest.HuntOptions{Cluster: "none", Limit: 5 * time.Second})
}

// TestInnerHuntNever: a lock that nobody ever gets is not said to hold.
func TestInnerHuntNever(t *testing.T) {
	onlyInner(t)
	locktest.Hunt(t, func(_ context.Context, o clients.Options) (clients.Lock, error) {
		return openMine(t.Context(), clients.Options{Servers: []string{"127.0.0.1:1"}, TTL: o.TTL})
	}, locktest.HuntOptions{Cluster: "none", Faults: []string{"none"}, Limit: 3 * time.Second, TTL: 500 * time.Millisecond, Find: []string{"wrong-release"}})
}

func TestInnerHuntUsage(t *testing.T) {
	onlyInner(t)
	for name, o := range map[string]locktest.HuntOptions{
		"nothing": {}, "builtin": {Cluster: "etcd"}, "fencing": {Cluster: "redis", Fencing: "wishful"}, "cluster": {Cluster: "nowhere"},
		"faults": {Cluster: "redis", Faults: []string{"puase"}}, "aimed": {Cluster: "redis", Faults: []string{"pause:holder"}}, "find": {Cluster: "redis", Find: []string{"stale-wirte"}},
		"depth": {Cluster: "redis", Depth: 3}, "short": {Cluster: "redis", Limit: time.Millisecond}, "long": {Cluster: "redis", Limit: time.Hour},
	} {
		t.Run(name, func(t *testing.T) { locktest.Hunt(t, openMine, o) })
	}
}
