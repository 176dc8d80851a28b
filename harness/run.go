package harness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/nemesis"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/workloads"
)

// Outcome is a run that came to its end.
type Outcome struct {
	Dir     *results.Dir
	Run     results.Run
	Verdict checker.Verdict
}

// run is one run under way.
type run struct {
	*plan
	dir      *results.Dir
	start    int64 // history.Now() at the run's start
	cluster  compose.Cluster
	rec      *recorder
	workers  *workers
	nemesis  *nemesis.Nemesis
	reg      *registerNode
	comeback comeback
	script   *script // nil for autonomous clients
}

// Run makes one run. An error means that the harness failed and that there is no
// verdict; it wraps ErrUsage when the options cannot work.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	p, err := o.plan()
	if err != nil {
		return nil, err
	}
	if p.Observer == nil {
		p.Observer = silent{}
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	desc := p.describe(o)
	var dir *results.Dir
	if p.Out == "" {
		dir, err = results.Create("picklock-results", desc)
	} else {
		dir, err = results.CreateAt(p.Out)
	}
	if err != nil {
		return nil, err
	}
	r := &run{plan: p, dir: dir, start: history.Now(), comeback: comeback{granted: make(chan struct{}, 1)}}
	events, err := r.whole(ctx, &desc)
	if err != nil {
		return nil, fmt.Errorf("%w (what there is of the run: %s)", err, dir.Path())
	}
	p.Observer.Phase("check the history", time.Time{})
	verdict, err := Judge(dir, desc, events)
	if err != nil {
		return nil, err
	}
	return &Outcome{Dir: dir, Run: desc, Verdict: verdict}, nil
}

// Judge draws the verdict from a run directory's records and writes all results.
func Judge(dir *results.Dir, desc results.Run, events []history.Event) (checker.Verdict, error) {
	effects, err := history.ReadEffects(dir.Register())
	if err != nil {
		return checker.Verdict{}, err
	}
	verdict := checker.Check(checker.Input{Events: events, Effects: effects, Options: checker.Options{
		Faults: faultNames(desc.Faults), Require: desc.Require, Bound: int64(desc.Bound), Fencing: desc.Fencing, NoLock: desc.NoLock,
	}})
	return verdict, results.WriteAll(dir, desc, verdict, events, effects)
}

func faultNames(specs []string) []string {
	seen := map[string]bool{}
	for _, s := range specs {
		name, _, _ := strings.Cut(s, ":")
		seen[name] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// whole brings everything up, runs it, and takes everything down again.
func (r *run) whole(ctx context.Context, desc *results.Run) (_ []history.Event, err error) {
	defer func() {
		if r.cluster != nil {
			err = errors.Join(err, r.cluster.Close())
		}
	}()
	if err := r.up(ctx, desc); err != nil {
		return nil, err
	}
	runErr := r.experiment(ctx)
	events, err := r.down()
	if err := errors.Join(runErr, err); err != nil {
		return nil, err
	}
	return events, r.dir.WriteRun(*desc)
}

func (r *run) up(ctx context.Context, desc *results.Run) (err error) {
	def, err := r.definition(ctx)
	if err != nil {
		return err
	}
	starting := "start the cluster " + def.Name
	if r.backend.Keep != nil {
		starting += " and the register " + r.Register
	}
	r.Observer.Phase(starting, time.Time{})
	r.cluster, err = r.Runtime.Start(ctx, def, compose.Options{
		Self: r.Self, LogDir: r.dir.File("nodes"), DataDir: r.dir.File("data"),
		Vars: map[string]string{"ttl_ms": fmt.Sprint(r.TTL.Milliseconds())},
	})
	if err != nil {
		r.cluster = nil
		var impossible compose.Impossible
		if errors.As(err, &impossible) {
			return fmt.Errorf("%w: %w", ErrUsage, err)
		}
		return err
	}
	r.start = r.Runtime.Now() // on the clock that the clients read, whatever machine it is
	var servers []string
	for _, n := range r.cluster.Nodes() {
		if n.Role == compose.Server {
			servers = append(servers, n.HostPort())
		}
	}
	r.Observer.Phase("start the register and the clients", time.Time{})
	if r.reg, err = r.startRegister(ctx, servers); err != nil {
		return err
	}
	if err := r.startWorkers(ctx, servers); err != nil {
		return err
	}
	r.nemesis, err = nemesis.New(ctx, &nemesis.Env{
		Cluster: r.cluster, Hands: r.Runtime.Hands(), Isolated: r.Runtime.Isolated(), TTL: r.TTL, Respawn: r.workers.respawn,
		Now: r.Runtime.Now, Asks: r.asks, Holds: r.onlyHolds,
	}, r.faults, r.Seed, r.start, func(e history.Event) { r.rec.record(e) })
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	desc.Emulator = strings.Join(def.Emulators(r.Runtime.Name()), ", ")
	for _, n := range r.cluster.Nodes() {
		if n.Role == compose.Helper {
			continue
		}
		desc.Nodes = append(desc.Nodes, results.Node{Name: n.Name, Role: string(n.Role), Addr: n.HostPort()})
	}
	if v, ok := r.cluster.(interface {
		Versions(context.Context) map[string]string
	}); ok {
		maps.Copy(desc.Versions, v.Versions(ctx))
	}
	return r.dir.WriteRun(*desc)
}

// definition loads a cluster; "none" is one without a server.
func definition(ctx context.Context, name string) (*compose.Definition, error) {
	if name == "none" {
		return &compose.Definition{Name: name}, nil
	}
	return compose.Load(ctx, name)
}

// definition is the lock's cluster, and the resource's where that is a server.
func (p *plan) definition(ctx context.Context) (*compose.Definition, error) {
	def, err := definition(ctx, p.Cluster)
	if err != nil || p.backend.Cluster == "" {
		return def, err
	}
	return def.With(ctx, p.backend.Cluster, registerName, compose.Register)
}

func (r *run) startWorkers(ctx context.Context, servers []string) error {
	var err error
	r.rec, err = newRecorder(r.dir.History(), func(e history.Event) {
		if e.Process != history.Nemesis {
			r.nemesis.Observe(e)
		}
		if r.script != nil {
			r.script.player.Observe(e)
		}
		r.comeback.observe(e)
		r.Observer.Event(e)
	})
	if err != nil {
		return err
	}
	r.workers = &workers{
		cluster: r.cluster, rec: r.rec, failed: make(chan error, 1), running: map[string]*worker{},
		cfg: workloads.Config{
			Lock: r.Lock, Servers: servers, Register: r.registerAddr(), Backend: r.Register, Fencing: r.Fencing, Workload: r.Workload, Keys: keys(r.Keys),
			TTL: r.TTL, Hold: r.Hold, Rate: r.Rate, Wait: max(4*r.TTL, 2*time.Second), Timeout: max(2*r.TTL, time.Second),
			Renew: r.Renew, Check: r.CheckLease, Ignore: r.IgnoreLost, Extra: r.Extra, Seed: r.Seed, Start: r.start,
		},
	}
	if s, ok := r.cluster.(compose.Sharing); ok {
		r.workers.cfg.Directory = s.Directory()
	}
	if r.script != nil {
		r.workers.told, r.workers.cfg.Scripted = r.script.told, true
		// A step's end is awaited, not given up: the client waits as long as one may.
		r.workers.cfg.Wait, r.workers.cfg.Timeout = scriptWait, scriptTimeout
	}
	errs := make(chan error, len(r.names))
	for _, name := range r.names {
		go func() { errs <- r.workers.spawn(ctx, name) }()
	}
	if r.script != nil {
		err = r.script.startLooker(ctx)
	}
	for range r.names {
		err = errors.Join(err, <-errs)
	}
	return err
}

// experiment lets the clients and the nemesis loose until the time is up, and then
// until the lock was granted once more since the last fault was healed: whether it
// comes back is part of the question, and not to be answered by a time too short.
func (r *run) experiment(ctx context.Context) error {
	r.Observer.Phase("run", time.Now().Add(r.Limit))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	harm, calm := context.WithTimeout(ctx, r.Limit-r.recovery)
	defer calm()
	for _, name := range r.names {
		if err := r.workers.start(name); err != nil {
			return err
		}
	}
	healed := make(chan error, 1)
	go func() {
		defer close(healed)
		healed <- r.nemesis.Run(harm)
	}()
	err := r.watch(ctx, healed)
	cancel()
	if err != nil {
		r.Observer.Phase("heal", time.Time{})
		for e := range healed {
			err = errors.Join(err, e)
		}
	}
	return err
}

// watch returns when the experiment has lasted long enough, or with what broke it.
func (r *run) watch(ctx context.Context, healed <-chan error) error {
	limit, since := time.After(r.Limit), int64(0)
	var patience <-chan time.Time
	for {
		if limit == nil && healed == nil && patience == nil {
			if len(r.faults) == 0 || r.lock.Unlocked != nil {
				return nil
			}
			patience = time.After(r.patience)
			if r.comeback.last.Load() <= since {
				r.Observer.Phase("wait for the lock to come back", time.Now().Add(r.patience))
			}
		}
		if patience != nil && r.comeback.last.Load() > since {
			return nil
		}
		select {
		case <-limit:
			limit = nil
		case err := <-healed:
			if err != nil {
				return err
			}
			healed, since = nil, r.Runtime.Now()-r.start
		case <-r.comeback.granted:
		case <-patience:
			return nil
		case err := <-r.workers.failed:
			return err
		case err := <-r.cluster.Died():
			return err
		case <-ctx.Done():
			return fmt.Errorf("interrupted: %w", ctx.Err())
		}
	}
}

// comeback tells of grants.
type comeback struct {
	last    atomic.Int64 // when the last one was given, in ns from the run's start; 0 for none
	granted chan struct{}
}

func (c *comeback) observe(e history.Event) {
	if e.F != history.Acquire || e.Type != history.OK {
		return
	}
	for { // what a paused client was granted is told late
		last := c.last.Load()
		if e.Time <= last || c.last.CompareAndSwap(last, e.Time) {
			break
		}
	}
	select {
	case c.granted <- struct{}{}:
	default:
	}
}

// down stops clients and register, and returns the history.
func (r *run) down() ([]history.Event, error) {
	r.Observer.Phase("stop the clients", time.Time{})
	err := r.workers.stop(r.workers.cfg.Wait + 4*r.workers.cfg.Timeout + 10*time.Second)
	err = errors.Join(err, r.reg.stop())
	events, herr := r.rec.finish()
	return events, errors.Join(err, herr)
}

func keys(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("k%d", i)
	}
	return out
}

func (p *plan) describe(o Options) results.Run {
	desc := results.Run{
		Command: o.Command(), Started: time.Now(),
		Lock: p.lock.Name, About: p.lock.About, NoLock: p.lock.Unlocked != nil,
		Kind: p.lock.Kind, Permits: p.lock.Permits(p.Extra), Cluster: p.Cluster, Runtime: p.Runtime.Name(),
		Workload: p.Workload, Faults: p.Faults, Fencing: p.Fencing, Clients: p.Clients, Keys: p.Keys,
		TTL: p.TTL, Hold: p.Hold, Limit: p.Limit, Rate: p.Rate, Renew: p.Renew, Check: p.CheckLease, Ignore: p.IgnoreLost,
		Require: p.Require, Seed: p.Seed, Bound: p.bound,
		Versions: versions(p.lock.Module),
		Machine:  machine(),
	}
	if p.backend.Keep != nil {
		desc.Register = p.Register
	}
	return desc
}

// versions are those of the program and of the library under test, if there is one.
func versions(module string) map[string]string {
	v := map[string]string{"picklock": Version(), "go": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok && module != "" {
		for _, d := range info.Deps {
			if d.Path == module {
				v[module] = d.Version
			}
		}
	}
	return v
}

// Version is the program's own version as the Go tool recorded it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}

func machine() results.Machine {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		kernel = nil // not Linux
	}
	return results.Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: strings.TrimSpace(string(kernel)), CPUs: runtime.NumCPU()}
}

type silent struct{}

func (silent) Phase(string, time.Time) {}
func (silent) Event(history.Event)     {}
