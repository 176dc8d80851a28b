package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
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
	dir       *results.Dir
	start     int64 // history.Now() at the run's start
	cluster   compose.Cluster
	emulators string // what stands in for the service, where something does
	rec       *recorder
	workers   *workers
	nemesis   *nemesis.Nemesis
	reg       *registerNode
	stalls    *stalls
	programs  programs
	comeback  comeback
	script    *script       // nil for autonomous clients
	cut       time.Duration // how long it had lasted when it was interrupted
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
	dir, err := p.directory(ctx, desc)
	if err != nil {
		return nil, err
	}
	r := &run{plan: p, dir: dir, start: history.Now(), comeback: comeback{granted: make(chan struct{}, 1)}}
	events, err := r.whole(ctx, &desc)
	if err != nil {
		return nil, unfinished(dir, err)
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a history on its own has no log
		return checker.Verdict{}, err
	}
	verdict := checker.Check(checker.Input{Events: events, Effects: effects, Options: desc.Asked()})
	verdict = desc.Judged(verdict)
	return verdict, results.WriteAll(dir, desc, verdict, events, effects)
}

// whole brings everything up, runs it, and takes everything down again.
func (r *run) whole(ctx context.Context, desc *results.Run) (_ []history.Event, err error) {
	defer func() {
		if r.cluster != nil {
			err = errors.Join(err, r.cluster.Close())
		}
	}()
	if err := r.upUnlessInterrupted(ctx, desc); err != nil {
		return nil, err
	}
	runErr := r.experiment(ctx)
	if errors.Is(runErr, errInterrupted) {
		runErr, desc.CutShort = nil, r.cut
	}
	events, err := r.down(ctx)
	if errors.Is(runErr, errPrograms) {
		runErr = nil // the report of the programs says it
	}
	warning, perr := r.programs.report(r.dir.File("nodes"))
	if err := errors.Join(runErr, err, perr); err != nil {
		return nil, err
	}
	desc.Warnings = r.workers.warned()
	if warning != "" {
		desc.Warnings = append(desc.Warnings, warning)
	}
	return events, r.dir.WriteRun(*desc)
}

func (r *run) up(ctx context.Context, desc *results.Run) (err error) {
	if err := r.startCluster(ctx, r.dir.File("nodes"), r.dir.File("data")); err != nil {
		return err
	}
	servers := r.servers()
	r.Observer.Phase("start the register and the clients", time.Time{})
	if r.reg, err = r.startRegister(ctx, servers); err != nil {
		return err
	}
	if err := r.startWorkers(ctx, servers); err != nil {
		return err
	}
	if err := r.settle(r.workers.abilities()); err != nil {
		return err
	}
	r.workers.settled(r.Workload)
	desc.Workload, desc.Kind, desc.Permits = r.Workload, r.lock.Kind, r.lock.Permits(r.Extra)
	r.nemesis, err = nemesis.New(ctx, &nemesis.Env{
		Cluster: r.cluster, Hands: r.Runtime.Hands(), Isolated: r.Runtime.Isolated(), TTL: r.TTL, Respawn: r.workers.respawn,
		Now: r.Runtime.Now, Asks: r.asks, Holds: r.onlyHolds,
	}, r.faults, r.Seed, r.start, func(e history.Event) { r.rec.record(e) })
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	desc.Emulator = r.emulators
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
	begun := *desc
	begun.CutShort = results.Unfinished // until it has come to its end
	if err := r.dir.WriteRun(begun); err != nil {
		return err
	}
	r.stalls = watchStalls(r.TTL, func() int64 { return r.Runtime.Now() - r.start }, r.rec.record)
	return nil
}

// startCluster starts the servers. Their logs go to logs.
func (r *run) startCluster(ctx context.Context, logs, data string) error {
	def, err := r.definition(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	starting := "start the cluster " + def.Name
	if r.backend.Keep != nil {
		starting += " and the register " + r.Register
	}
	r.Observer.Phase(starting, time.Time{})
	r.cluster, err = r.Runtime.Start(ctx, def, compose.Options{
		Self: r.Self, LogDir: logs, DataDir: data,
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
	r.emulators = strings.Join(def.Emulators(r.Runtime.Name()), ", ")
	return nil
}

// servers are the addresses that clients dial.
func (r *run) servers() []string {
	var out []string
	for _, n := range r.cluster.Nodes() {
		if n.Role == compose.Server {
			out = append(out, n.HostPort())
		}
	}
	return out
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
	r.programs.clients = len(r.names)
	r.rec, err = newRecorder(r.dir.History(), func(e history.Event) {
		if e.Process != history.Nemesis {
			r.nemesis.Observe(e)
		}
		if r.script != nil {
			r.script.player.Observe(e)
		}
		r.comeback.observe(e)
		if r.programs.observe(e) {
			r.workers.fail(errPrograms)
		}
		r.Observer.Event(e)
	})
	if err != nil {
		return err
	}
	r.workers = newWorkers(r.cluster, r.rec, r.workerConfig(servers, r.registerAddr()))
	if r.script != nil {
		r.workers.told, r.workers.cfg.Scripted = r.script.told, true
		// A step's end is awaited, not given up: the client waits as long as one may.
		r.workers.cfg.Wait, r.workers.cfg.Timeout = scriptWait, scriptTimeout
	}
	type started struct {
		name string
		err  error
	}
	all := make(chan started, len(r.names))
	for _, name := range r.names {
		go func() { all <- started{name, r.workers.spawn(ctx, name)} }()
	}
	if r.script != nil {
		err = r.script.startLooker(ctx)
	}
	failed := map[string]error{}
	for range r.names {
		s := <-all
		failed[s.name] = s.err
	}
	return errors.Join(err, r.notStarted(failed))
}

// workerConfig is what all clients are told, but for their names.
func (r *run) workerConfig(servers []string, registerAt string) workloads.Config {
	c := workloads.Config{
		Lock: r.Lock, Servers: servers, Register: registerAt, Backend: r.Register, Fencing: r.Fencing, Workload: r.Workload, Keys: keys(r.Keys),
		TTL: r.TTL, Hold: r.Hold, Reach: r.reach, Rate: r.Rate, Wait: max(4*r.TTL, 2*time.Second), Timeout: max(2*r.TTL, time.Second),
		Renew: r.Renew, Check: r.CheckLease, Ignore: r.IgnoreLost, Extra: r.Extra, Abilities: r.Abilities, Seed: r.Seed, Start: r.start,
	}
	if s, ok := r.cluster.(compose.Sharing); ok {
		c.Directory = s.Directory()
	}
	return c
}

// experiment lets the clients and the nemesis loose until the time is up, and then
// until the lock was granted once more since the last fault was healed: whether it
// comes back is part of the question, and not to be answered by a time too short.
func (r *run) experiment(ctx context.Context) error {
	r.Observer.Phase("run", time.Now().Add(r.Limit))
	harm, cancel := context.WithTimeout(ctx, r.Limit-r.recovery)
	defer cancel()
	for _, name := range r.names {
		if err := r.workers.start(name); err != nil {
			return err
		}
	}
	healed := make(chan error, 1)
	go func() {
		defer close(healed)
		healed <- r.nemesis.Run(ctx, harm)
	}()
	err := r.watch(ctx, healed)
	cancel()
	if err != nil {
		r.Observer.Phase("heal", time.Time{})
		err = errors.Join(err, r.heal(ctx, healed))
	}
	return err
}

// heal waits until the nemesis has healed everything, or until the run is abandoned:
// then all nodes are ended as they are.
func (r *run) heal(ctx context.Context, healed <-chan error) error {
	select {
	case err := <-healed: // nil where it was read before
		return err
	case <-ctx.Done():
		return fmt.Errorf("abandoned: %w", ctx.Err())
	}
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
		case <-r.Interrupt:
			r.interrupted()
			return errInterrupted
		case <-ctx.Done():
			return fmt.Errorf("abandoned: %w", ctx.Err())
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
func (r *run) down(ctx context.Context) ([]history.Event, error) {
	r.Observer.Phase("stop the clients", time.Time{})
	err := r.workers.stop(ctx, r.workers.cfg.Wait+4*r.workers.cfg.Timeout+10*time.Second)
	r.stalls.stop()
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
		TTL: p.TTL, Hold: p.Hold, Reach: p.reach, Limit: p.Limit, Rate: p.Rate, Renew: p.Renew, Check: p.CheckLease, Ignore: p.IgnoreLost,
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
