package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// Cells of a matrix, of a fleet and of a Go test are all run in one way: an Executor runs them one
// after the other on servers that stay up, in a process of its own (picklock testbed), so that one
// that breaks down takes no other's result with it.

// CellOrder is one run of one cell, as it is sent to an executor's process.
type CellOrder struct {
	Text      string            `json:"text"` // the scenario as its file has it
	File      string            `json:"file"` // its name
	Own       bool              `json:"own,omitempty"`
	Lock      string            `json:"lock"`
	Fencing   string            `json:"fencing"`
	Cluster   string            `json:"cluster,omitempty"`
	Extra     map[string]string `json:"extra,omitempty"`
	Abilities map[string]string `json:"abilities,omitempty"`
	TTL       time.Duration     `json:"ttl,omitempty"`  // 0: the scenario's own
	Must      *[]string         `json:"must,omitempty"` // what must break; nil: what the scenario says
	Seed      uint64            `json:"seed"`
	Again     []string          `json:"again,omitempty"` // the command that runs the cell again
	Out       string            `json:"out"`             // its run directory
}

// NewCellOrder is the order to run a scenario on a lock, in a run directory.
func NewCellOrder(c scenarios.Cell, out string) CellOrder {
	s := c.Scenario
	return CellOrder{Text: string(s.Text), File: s.File, Own: s.Own, Lock: c.Lock, Fencing: c.Fencing, Out: out}
}

// Options are what the order means on a host.
func (c CellOrder) Options(host Host) (ScenarioOptions, error) {
	parse := scenarios.Parse
	if c.Own {
		parse = scenarios.ParseOwn
	}
	s, err := parse(c.File, []byte(c.Text))
	if err != nil {
		return ScenarioOptions{}, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if c.TTL > 0 {
		s.TTL = c.TTL
	}
	if c.Must != nil {
		s.Locks = append(s.Locks, scenarios.Every)
		s.Expect = []scenarios.Expectation{{Lock: scenarios.OwnLocks, Fencing: scenarios.Every, Must: *c.Must}}
	}
	host.Extra, host.Abilities, host.Again, host.Out = c.Extra, c.Abilities, c.Again, c.Out
	return ScenarioOptions{Scenario: s, Lock: c.Lock, Fencing: c.Fencing, Cluster: c.Cluster, Seed: c.Seed, Host: host}, nil
}

// Executor runs scenarios on locks, one after the other, each with its verdict, its result and its
// run directory. The servers of one stay up for the next where that may have them: see Reuse.
type Executor struct{ servers *Reuse }

// NewExecutor makes an executor that keeps its servers' logs and data below dir. Nothing runs before
// the first scenario.
func NewExecutor(dir string) *Executor { return &Executor{NewReuse(dir)} }

// Run is RunScenario on the executor's servers.
func (x *Executor) Run(ctx context.Context, o ScenarioOptions) (*ScenarioOutcome, error) {
	o.Reuse = x.servers
	return RunScenario(ctx, o)
}

// Starts is how often servers were started all together.
func (x *Executor) Starts() int { return x.servers.Starts() }

// Close ends the servers that are up.
func (x *Executor) Close() error { return x.servers.Close() }

// cell carries an order out. What cannot be run here is a result, too.
func (x *Executor) cell(ctx context.Context, host Host, c CellOrder) (results.Cell, error) {
	o, err := c.Options(host)
	if err != nil {
		return results.Cell{}, err
	}
	if err := o.Possible(ctx); err != nil {
		return c.leftOut(err), nil
	}
	out, err := x.Run(ctx, o)
	if errors.Is(err, ErrUsage) {
		return c.leftOut(err), nil
	}
	if err != nil {
		return results.Cell{}, err
	}
	return out.Result, nil
}

func (c CellOrder) leftOut(why error) results.Cell {
	return results.Cell{LeftOut: lastLine(why.Error())}
}

// RemoteExecutor is an executor in a process of its own, started when it is first needed and again
// if it breaks down.
type RemoteExecutor struct {
	o       RemoteOptions
	process *process
	starts  int
}

// RemoteOptions say how an executor's process is started.
type RemoteOptions struct {
	Self        string // path of the picklock program
	Runtime     string
	ClientImage string
	// Dir is the folder of its servers' logs and data, and of what it says itself. Close removes it
	// unless something failed.
	Dir string
}

// NewRemoteExecutor prepares an executor. Nothing is started before the first cell.
func NewRemoteExecutor(o RemoteOptions) *RemoteExecutor { return &RemoteExecutor{o: o} }

// Run runs one cell. An error means that there is no result: ctx has ended, or picklock failed.
func (r *RemoteExecutor) Run(ctx context.Context, c CellOrder) (results.Cell, error) {
	if r.process == nil {
		if err := r.start(); err != nil {
			return results.Cell{}, err
		}
	}
	a, err := r.process.ask(ctx, testbedRequest{Cell: &c, Dir: r.dir()})
	if err != nil && ctx.Err() == nil && r.process.Ended() {
		err = errors.Join(err, r.end()) // the next cell gets another process
	}
	if err != nil {
		return results.Cell{}, err
	}
	return *a.Cell, nil
}

func (r *RemoteExecutor) dir() string { return filepath.Join(r.o.Dir, fmt.Sprint(r.starts)) }

func (r *RemoteExecutor) start() error {
	r.starts++
	if err := os.MkdirAll(r.dir(), 0o755); err != nil {
		return fmt.Errorf("make the folder of a testbed: %w", err)
	}
	var err error
	r.process, err = startProcess(r.o.Self, filepath.Join(r.dir(), "testbed.log"), r.o.Runtime, r.o.ClientImage)
	return err
}

func (r *RemoteExecutor) end() error {
	p := r.process
	r.process = nil
	if p == nil {
		return nil
	}
	return p.Close()
}

// Close ends the process, and with it all that runs on it.
func (r *RemoteExecutor) Close() error {
	broke := r.starts > 1
	if err := r.end(); err != nil || broke {
		return err
	}
	return os.RemoveAll(r.o.Dir)
}
