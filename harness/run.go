package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients"
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
	// wallSet is how far this machine's wall clock was set meanwhile, by somebody else.
	wallSet time.Duration
}

// driver is what differs between runs: who tells the clients what to do and when
// faults are injected, and when it has been enough.
type driver interface {
	// observe takes every event as it arrives, and onMessage what a client says besides
	// its events. Both are called from several goroutines.
	observe(e history.Event)
	onMessage(client string, m workloads.Message)
	// drive lets clients and faults loose on a run that is set up. It returns when it
	// has been enough, when the context enough ends, or with what broke. The end of ctx
	// abandons the run: nothing need be healed.
	drive(ctx, enough context.Context) error
	// heal undoes the faults that are still on after drive.
	heal(ctx context.Context) error
}

// run is one run under way.
type run struct {
	*plan
	driver    driver
	dir       *results.Dir
	desc      results.Run
	start     int64 // history.Now() at the run's start
	cluster   compose.Cluster
	logs      string // the folder of the nodes' logs
	live      string // the folder that nodes write them to, which may be of many runs
	keys      []string
	external  []string          // the addresses of servers that run already
	access    *clients.External // how they are reached
	conforms  bool              // its clients try a program against the protocol
	mark      string            // in the names of all keys there; "" where the servers are the run's own
	emulators string            // what stands in for the service, where something does
	rec       *recorder
	workers   *workers
	nemesis   *nemesis.Nemesis
	reg       *registerNode
	stalls    *stalls
	wall      wallClock
	wallSet   time.Duration
	programs  programs
	injector  nemesis.Injector // nil: one of its own
	scope     string           // tells its packet filters from those of others on the same nodes
	// registerLog takes the register's log; nil: the run directory does.
	registerLog io.WriteCloser
}

// Run makes one run of clients that act by themselves. An error means that the harness
// failed and that there is no verdict; it wraps ErrUsage when the options cannot work.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	p, err := o.plan()
	if err == nil {
		err = p.possible(ctx)
	}
	if err != nil {
		return nil, err
	}
	r, err := p.run(ctx, p.describe(o), newAutonomous)
	if err != nil {
		return nil, err
	}
	return r.outcome(ctx)
}

// run prepares a run, with a directory for it.
func (p *plan) run(ctx context.Context, desc results.Run, drivenBy func(*run) driver) (*run, error) {
	if p.Observer == nil {
		p.Observer = silent{}
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if err := p.checkClients(); err != nil {
		return nil, err
	}
	dir, err := p.directory(ctx, desc)
	if err != nil {
		return nil, err
	}
	r := &run{plan: p, dir: dir, desc: desc, start: history.Now(), keys: keyNames("", p.Keys)}
	r.driver = drivenBy(r)
	return r, nil
}

// outcome makes the run and judges what came of it.
func (r *run) outcome(ctx context.Context) (*Outcome, error) {
	if err := r.do(ctx); err != nil {
		return nil, unfinished(r.dir, err)
	}
	r.Observer.Phase("check the history", time.Time{})
	verdict, err := Judge(r.dir, r.desc)
	if err != nil {
		return nil, err
	}
	return &Outcome{Dir: r.dir, Run: r.desc, Verdict: verdict, wallSet: r.wallSet}, nil
}

// Judge draws the verdict from a run directory's records and writes all results.
func Judge(dir *results.Dir, desc results.Run) (checker.Verdict, error) {
	effects := dir.Register()
	if _, err := os.Stat(effects); errors.Is(err, fs.ErrNotExist) {
		effects = "" // a history on its own has no log
	}
	verdict, err := checker.CheckFiles(context.Background(), dir.History(), effects, desc.Asked(), nil)
	if err != nil {
		return checker.Verdict{}, fmt.Errorf("check the run: %w", results.Damaged(err))
	}
	verdict = desc.Judged(verdict)
	return verdict, results.WriteStored(dir, desc, verdict)
}

// do sets everything up, drives it, and takes everything down again.
func (r *run) do(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, r.leaveCluster(err)) }()
	if err := r.setupUnlessInterrupted(ctx); err != nil {
		return err
	}
	runErr := r.experiment(ctx)
	err = r.teardown(ctx)
	warning, perr := r.programs.report(r.live, r.logs)
	if errors.Is(runErr, errPrograms) {
		runErr = nil // the report of the programs says it
	} else if r.scripted {
		perr = nil // a script goes on until a step cannot be taken
	}
	if err := errors.Join(runErr, err, perr); err != nil {
		return err
	}
	r.desc.Warnings = append(r.desc.Warnings, r.workers.warned()...)
	if warning != "" {
		r.desc.Warnings = append(r.desc.Warnings, warning)
	}
	if r.wallSet = r.wall.set(); r.wallSet != 0 {
		r.desc.WallSet = r.wallSet
		r.desc.Warnings = append(r.desc.Warnings, setWords(r.wallSet)+"; so picklock counts each lease as so much shorter")
	}
	return r.dir.WriteRun(r.desc)
}

// setup starts the servers, the register and the clients, and prepares the nemesis.
func (r *run) setup(ctx context.Context) (err error) {
	if err := r.setupServers(ctx); err != nil {
		return err
	}
	if r.rec, err = newRecorder(r.dir.History()); err != nil {
		return err
	}
	if err := r.setupClients(ctx, r.servers()); err != nil {
		return err
	}
	r.stalls, r.wall = watchStalls(r.TTL, func() int64 { return r.Runtime.Now() - r.start }, r.rec.record), startWallClock()
	return nil
}

// setupServers starts the servers and the register.
func (r *run) setupServers(ctx context.Context) (err error) {
	if err := r.enterCluster(ctx); err != nil {
		return err
	}
	r.Observer.Phase("start the register and the clients", time.Time{})
	r.reg, err = r.startRegister(ctx, r.servers())
	return err
}

// setupClients starts the clients, and prepares the nemesis.
func (r *run) setupClients(ctx context.Context, servers []string) (err error) {
	if err := r.startWorkers(ctx, servers); err != nil {
		return err
	}
	if err := r.settle(r.workers.abilities()); err != nil {
		return err
	}
	r.workers.setWorkload(r.Workload)
	if r.injector == nil {
		r.injector = r.Runtime.Injector()
	}
	r.nemesis, err = nemesis.New(ctx, &nemesis.Env{
		Cluster: r.cluster, Injector: r.injector, Isolated: r.Runtime.Isolated(), TTL: r.TTL, Respawn: r.workers.respawn,
		Now: r.Runtime.Now, Asks: r.asks, Holds: r.writesNothing, Scope: r.scope,
	}, r.faults, r.Seed, r.start, r.rec.record)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	r.desc.Drawn, r.desc.Warnings = r.nemesis.Drawn(), r.nemesis.LeftOut()
	if err := r.describeCluster(ctx); err != nil {
		return err
	}
	r.rec.onEvent(r.observe)
	return nil
}

// observe hands an event, as it arrives, to all who have to know.
func (r *run) observe(e history.Event) {
	if e.Process != history.Nemesis {
		r.nemesis.Observe(e)
	}
	r.driver.observe(e)
	if r.programs.observe(e) {
		r.workers.fail(r.programs.why())
	}
	r.Observer.Event(e)
}

// experiment drives the run until it has been enough, until something breaks, or until
// it is interrupted, and sees to it that everything is healed.
func (r *run) experiment(ctx context.Context) error {
	ectx, stop := r.watched(ctx)
	err := r.driver.drive(ctx, ectx)
	stop()
	if cause := context.Cause(ectx); cause != nil && !errors.Is(cause, errEnough) {
		err = cause
	}
	if ctx.Err() != nil { // all nodes are ended as they are
		return fmt.Errorf("abandoned: %w", ctx.Err())
	}
	if errors.Is(err, errInterrupted) || errors.Is(err, errUnwritten) {
		err = nil
	} else if err != nil {
		r.Observer.Phase("heal", time.Time{})
	}
	return errors.Join(err, r.driver.heal(ctx))
}

// errUnwritten ends a run whose history cannot be written. The recorder's finish says why.
var errUnwritten = errors.New("the history cannot be written")

// errEnough is no error: the experiment is over, and so is the watch on it.
var errEnough = errors.New("enough")

// watched is ctx, which also ends when a client or the cluster breaks down or when the
// run is to be cut short; its cause says which. stop ends the watch.
func (r *run) watched(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case err := <-r.workers.failed:
			cancel(err)
		case err := <-r.cluster.Died():
			cancel(err)
		case <-r.rec.broken: // what comes from now on is lost
			cancel(errUnwritten)
		case <-r.Interrupt:
			r.interrupted()
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(errEnough)
		<-over
	}
}

// teardown stops clients and register, and puts the history in order.
func (r *run) teardown(ctx context.Context) error {
	r.Observer.Phase("stop the clients", time.Time{})
	err := r.workers.stop(ctx, r.workers.cfg.Wait+4*r.workers.cfg.Timeout+10*time.Second)
	r.stalls.stop()
	return errors.Join(err, r.reg.stop(), r.rec.finish())
}

type silent struct{}

func (silent) Phase(string, time.Time) {}
func (silent) Event(history.Event)     {}
