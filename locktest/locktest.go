// Package locktest puts your own lock through picklock's catalogue inside go
// test:
//
//	func TestMyLock(t *testing.T) {
//		locktest.Run(t, func(ctx context.Context, o clients.Options) (clients.Lock, error) {
//			return mylock.Open(ctx, o.Servers, o.TTL)
//		}, locktest.Options{Cluster: "redis"})
//	}
//
// Each scenario is a subtest. One that ends otherwise than expected fails, in one
// sentence and with the path of a report that proves it. Hunt searches for the least
// that it takes to break the lock instead, and fails with each counterexample that it finds.
//
// A client has to be a process of its own, so that it can be stopped, killed and cut
// off. Run and Hunt therefore have the test binary started again, once for each client,
// with nothing to do but this very test up to this very call of Run or Hunt, which never
// returns there. What the test does before it is done in each of those processes as well:
// keep it short, and skip what must be done once only when Child says so.
//
// It needs no root. On Linux the nodes live in namespaces of their own where the
// kernel lets an ordinary user have them; elsewhere what cannot be done is skipped,
// with the reason.
package locktest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// Open connects one client to the lock service. It is called in that client's process.
type Open func(ctx context.Context, o clients.Options) (clients.Lock, error)

// Options says what the lock runs on and what is expected of it.
type Options struct {
	// Cluster is what picklock starts for the lock: the name of a built-in cluster
	// (see picklock doctor), or the path of a Compose file (docs/guides/your-lock.md). Its
	// servers' addresses are in clients.Options.Servers.
	Cluster string
	// Servers are the addresses of servers that run already, instead of a cluster.
	// Nothing can be done to them then, and the clients share this machine's network,
	// so that they cannot be cut off either.
	Servers []string
	// Builtin serves the clusters that are part of picklock (etcd, dynamodb, kubernetes):
	// builtin.Run of compose/builtin. It is handed in so that a test of another lock does
	// not compile those servers.
	Builtin func(ctx context.Context, name string, args []string) error

	// Fencing is how the protected resource uses the lock's tokens: none (the
	// default), write, write-strict or read-write.
	Fencing string
	// TTL is the lease that clients ask for; 0: each scenario's own, mostly 1 s.
	TTL time.Duration
	// Confirms: see clients.Info.
	Confirms bool
	// Extra is handed to Open.
	Extra map[string]string

	// Scenarios are names of the catalogue (picklock list scenarios) or paths of one's
	// own files; nil: all of the catalogue that suit any lock, those that are not run
	// with this Fencing without any.
	Scenarios []string
	// Faults, as in picklock run --faults, are injected while clients run by themselves, in a
	// subtest called "run"; nil: there is no such subtest.
	Faults []string
	// Limit is the length of that run; 0: 20 s.
	Limit time.Duration
	// Seed is that of the run's random choices; 0: a new one.
	Seed uint64

	// Expect names what is known to break, by scenario: exactly those anomalies must
	// appear (docs/reference/anomalies.md); none means that it must hold. Of a scenario that is not
	// named here, what its file says of locks that the catalogue does not know is
	// expected: that it holds, or, where no lease can hold without fencing, that nothing
	// else breaks.
	Expect map[string][]string

	// Out is the folder of the reports; "": a new one in the system's temporary
	// folder, which is removed if the test passes.
	Out string
}

// defaultTTL is the lease of a run without a script.
const defaultTTL = time.Second

// runName is the subtest of clients that run by themselves.
const runName = "run"

var (
	callsMu sync.Mutex
	calls   = map[string]int{} // of Run and Hunt, by test
)

// nth says which of the test's calls of Run and Hunt this is.
func nth(t *testing.T) int {
	callsMu.Lock()
	defer callsMu.Unlock()
	n := calls[t.Name()]
	if calls[t.Name()]++; n == 0 {
		// A test that is run again (go test -count) begins with its first call again.
		t.Cleanup(func() {
			callsMu.Lock()
			defer callsMu.Unlock()
			delete(calls, t.Name())
		})
	}
	return n
}

// folder is where the reports go: the one that is named, or a new one, which goes if the
// test passes.
func folder(t *testing.T, out string) string {
	t.Helper()
	var err error
	if out == "" {
		if out, err = os.MkdirTemp("", "picklock-"+fileName(t.Name())+"-"); err != nil {
			t.Fatalf("locktest: %v", err)
		}
		made := out
		t.Cleanup(func() {
			if !t.Failed() {
				os.RemoveAll(made)
			}
		})
	}
	if out, err = filepath.Abs(out); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	return out
}

// Run tests a lock. The test fails if a scenario ends otherwise than expected, or
// proves too little.
func Run(t *testing.T, open Open, o Options) {
	t.Helper()
	call := nth(t)
	if Child() {
		child(t.Name(), call, open, o.Builtin)
		return // this call is not the one that the process was started for
	}
	err := o.check()
	if err == nil {
		err = o.checkBuiltin(t.Context())
	}
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	played, err := o.scenarios()
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	out := folder(t, o.Out)
	x := order{Test: t.Name(), Call: call, Fencing: o.Fencing, Cluster: o.Cluster, Servers: o.Servers, Confirms: o.Confirms}
	var plays []play
	for _, s := range played {
		plays = append(plays, o.play(s, x, filepath.Join(out, s.Name)))
	}
	ahead, err := runAhead(t.Context(), x, plays, o.atATime())
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	defer func() {
		if err := ahead.stop(); err != nil {
			t.Errorf("locktest: %v", err)
		}
	}()
	for i, p := range plays {
		t.Run(p.name, func(t *testing.T) { p.judge(t, ahead.result(i)) })
	}
}

func (o *Options) check() error {
	if o.Fencing == "" {
		o.Fencing = "none"
	}
	d, err := register.ParseFencingMode(o.Fencing)
	switch {
	case err != nil:
		return err
	case d.Asks():
		return fmt.Errorf("fencing %s asks the lock service, which picklock knows how to do for its own locks only", d)
	case o.Cluster == "" && len(o.Servers) == 0:
		return errors.New(`what does the lock run on? Name a cluster (Options.Cluster), "none" for none, or servers that run already (Options.Servers)`)
	case o.Cluster != "" && len(o.Servers) > 0:
		return errors.New("either Options.Cluster or Options.Servers: picklock starts the servers, or they run already")
	}
	if o.Limit == 0 {
		o.Limit = 20 * time.Second
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64N(1 << 32)
	}
	return nil
}

// checkBuiltin says what to do where the cluster is one of picklock's own servers and
// nobody has handed them in.
func (o *Options) checkBuiltin(ctx context.Context) error {
	if o.Builtin != nil || o.Cluster == "" || o.Cluster == "none" {
		return nil
	}
	def, err := compose.Load(ctx, o.Cluster)
	if err != nil {
		return err
	}
	for _, s := range def.Members() {
		if l := s.Spec.Local; l != nil && len(l.Command) > 2 && l.Command[0] == "{self}" && l.Command[1] == "server" {
			return fmt.Errorf("cluster %s runs %s, which is part of picklock: set Options.Builtin to builtin.Run of github.com/picklock/picklock/compose/builtin", o.Cluster, l.Command[2])
		}
	}
	return nil
}

// scenarios finds what is to be run.
func (o *Options) scenarios() ([]*scenarios.Scenario, error) {
	var out []*scenarios.Scenario
	if o.Scenarios == nil {
		all, err := scenarios.All()
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			if slices.Contains(s.Locks, scenarios.Every) && (slices.Contains(s.Fencing, o.Fencing) || slices.Contains(s.Fencing, "none")) {
				out = append(out, s)
			}
		}
	}
	for _, name := range o.Scenarios {
		find := scenarios.Lookup
		if strings.ContainsAny(name, "./") {
			find = scenarios.Load
		}
		s, err := find(name)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	if o.Faults != nil {
		s, err := o.byThemselves()
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	for name := range o.Expect {
		if !slices.ContainsFunc(out, func(s *scenarios.Scenario) bool { return s.Name == name }) {
			return nil, fmt.Errorf("something is expected of %q, which is not among what is run", name)
		}
	}
	return out, nil
}

// byThemselves is the scenario of clients that run by themselves.
func (o *Options) byThemselves() (*scenarios.Scenario, error) {
	faults, err := json.Marshal(o.Faults) // which is YAML, too
	if err != nil {
		return nil, err
	}
	return scenarios.Parse(runName+".yaml", fmt.Appendf(nil, `name: %s
about: Clients that run by themselves, and faults at random moments.
locks: ["*"]
ttl: %v
run: {faults: %s, duration: %v}
expect: {own: valid}
`, runName, defaultTTL, faults, o.Limit))
}

// play is how a scenario is run. Expected of it is what the test says, where it says something, and
// else what the file says of locks that the catalogue does not know.
func (o *Options) play(s *scenarios.Scenario, x order, dir string) play {
	fencing := o.Fencing
	if o.Scenarios == nil && s.Run == nil && !slices.Contains(s.Fencing, fencing) {
		fencing = "none"
	}
	p := play{s.Name, harness.NewCellOrder(scenarios.Cell{Scenario: s, Lock: x.lockName(), Fencing: fencing}, dir)}
	p.File, p.Own = s.Name+".yaml", false
	p.Cluster, p.Extra, p.TTL, p.Seed, p.Again = cmp.Or(o.Cluster, "none"), o.Extra, o.TTL, o.Seed, x.again()
	if must, known := o.Expect[s.Name]; known || !s.AppliesTo(p.Lock) {
		p.Must = &must
	}
	return p
}

// judge says what came of it.
func (p play) judge(t *testing.T, r result) {
	t.Helper()
	report, c := filepath.Join(p.Out, results.ReportFile), r.cell
	said := crash(p.Out)
	switch {
	case r.err != nil && strings.Contains(r.err.Error(), said):
		t.Fatalf("locktest: %v", r.err)
	case r.err != nil:
		t.Fatalf("locktest: %v%s", r.err, said)
	case c.LeftOut != "" && p.name == runName: // it fits every lock: the options do not work
		t.Fatalf("locktest: %s", c.LeftOut)
	case c.LeftOut != "":
		t.Skip(c.LeftOut)
	case c.Met == checker.True && said != "":
		t.Errorf("as expected: %s, but a client broke down\nreport: %s%s", c.Expected, report, said)
	case c.Met == checker.True && c.Valid == checker.False:
		t.Logf("broke as any lock does there that is not fenced (%s): %s\nreport: %s", strings.Join(c.Broken, ", "), c.Sentence, report)
	case c.Met == checker.True:
		t.Logf("as expected: %s", c.Expected)
	case c.Met == checker.Unknown:
		t.Errorf("nothing is proved: %s\nreport: %s%s", c.Why, report, said)
	default:
		t.Errorf("%s\nexpected: %s\nreport: %s%s", c.Why, c.Expected, report, said)
	}
}

// fileName keeps what every file system takes.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name)
}
