package harness

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/internal/shard"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// CellsFolder is where a matrix keeps the runs of its cells, TestbedsFolder where the servers are that
// they run on, as long as they do.
const (
	CellsFolder    = "cells"
	TestbedsFolder = "testbeds"
)

// MatrixOptions says which cells to run and how.
type MatrixOptions struct {
	Scenarios []*scenarios.Scenario
	Locks     []string                     // empty: those that each scenario names
	Fencing   []string                     // empty: those that each scenario names
	Cluster   string                       // instead of each lock's own
	Extra     map[string]string            // options of every lock (clients.Info.Options)
	Abilities map[string]string            // what the user says that exec locks can do
	Declared  map[string]clients.Abilities // what they declare themselves, by lock; see Describe
	Runs      int                          // of every cell
	Shard     shard.Shard                  // of the cells; the zero one for all
	Jobs      int                          // at a time
	Out       string                       // finished cells that are there already are kept
	Runtime   string
	// ClientImage is an image to put the clients' program into; see Docker.
	ClientImage string
	Self        string
	Table       *clients.Table // where Locks are found
	// Done is called with every cell that is finished; from is true for one that was
	// there already.
	Done func(c results.Cell, n, of int, kept bool)
}

// Cells lists what the matrix consists of: every scenario with every lock that it
// applies to and every discipline that the lock can be used with.
func (o MatrixOptions) Cells() ([]scenarios.Cell, error) {
	var out []scenarios.Cell
	for _, s := range o.Scenarios {
		locks := s.Locks
		if len(o.Locks) > 0 {
			locks = slices.DeleteFunc(slices.Clone(o.Locks), func(l string) bool { return !s.AppliesTo(catalogued(o.Table, l)) })
		}
		for _, lock := range locks {
			if lock == scenarios.Every {
				continue // stands for locks that the catalogue does not know
			}
			info, err := o.lockFor(lock)
			if err != nil {
				return nil, err
			}
			for _, fencing := range s.Fencing {
				d, err := register.ParseFencingMode(fencing)
				if err != nil {
					return nil, err
				}
				if info.Declares && d.Fenced() && len(o.Fencing) == 0 {
					continue // nobody knows whether it has tokens, and nobody asked for it
				}
				if fits(info, d) != nil || len(o.Fencing) > 0 && !slices.Contains(o.Fencing, fencing) {
					continue
				}
				out = append(out, scenarios.Cell{Scenario: s, Lock: lock, Fencing: fencing})
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no scenario applies to these locks in these fencing modes: a scenario runs on the locks that its locks name, \"*\" for your own, and in the modes that its fencing names (see picklock list scenarios)")
	}
	return out, nil
}

// Matrix runs all cells: those that can have the same servers one after the other on them. An interruption leaves
// what is finished in o.Out, where another call with the same folder goes on.
func Matrix(ctx context.Context, o MatrixOptions) (*results.Matrix, error) {
	cells, err := o.Cells()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	cells = o.sharded(cells)
	if o.Out, err = filepath.Abs(o.Out); err != nil {
		return nil, err
	}
	m := &results.Matrix{Started: time.Now(), Machine: machine(), Versions: map[string]string{}, Cells: make([]results.Cell, len(cells))}
	if err := o.runAll(ctx, cells, m.Cells); err != nil {
		if errors.Is(err, context.Canceled) {
			return nil, fmt.Errorf("finished cells are kept, and the same command with --out %s goes on: %w", o.Out, err)
		}
		return nil, fmt.Errorf("%w (finished cells are kept: the same command with --out %s goes on)", err, o.Out)
	}
	for _, s := range o.Scenarios {
		m.Scenarios = append(m.Scenarios, results.Ran{Name: s.Name, About: s.About, Source: s.Source})
	}
	for _, c := range m.Cells {
		for k, v := range c.Versions {
			m.Versions[k] = v
		}
		if !c.Started.IsZero() && c.Started.Before(m.Started) {
			m.Started = c.Started
		}
	}
	m.Finished = time.Now()
	if !o.Shard.Whole() {
		m.Shard = &o.Shard
	}
	return m, nil
}

// runAll runs the cells, some at a time, each of them on an executor, and puts what came of them into
// out.
func (o MatrixOptions) runAll(ctx context.Context, cells []scenarios.Cell, out []results.Cell) error {
	var (
		mu    sync.Mutex
		n     int
		queue = newCellQueue(o.groups(cells))
	)
	g, ctx := errgroup.WithContext(ctx)
	for job := range min(max(1, o.Jobs), len(cells)) {
		g.Go(func() (err error) {
			x := NewRemoteExecutor(RemoteOptions{Self: o.Self, Runtime: cmp.Or(o.Runtime, "local"), ClientImage: o.ClientImage, Dir: filepath.Join(o.Out, TestbedsFolder, strconv.Itoa(job+1))})
			defer func() { err = errors.Join(err, x.Close()) }()
			group := ""
			for i, ok := queue.next(&group); ok && ctx.Err() == nil; i, ok = queue.next(&group) {
				c, kept, err := o.Cell(ctx, x, cells[i])
				if err != nil {
					return err
				}
				mu.Lock()
				n++
				out[i] = c
				if o.Done != nil {
					o.Done(c, n, len(cells), kept)
				}
				mu.Unlock()
			}
			return nil
		})
	}
	err := g.Wait()
	_ = os.Remove(filepath.Join(o.Out, TestbedsFolder)) // stays if something failed there
	return err
}

// sharded are the cells of the shard.
func (o MatrixOptions) sharded(cells []scenarios.Cell) []scenarios.Cell {
	var out []scenarios.Cell
	for place, c := range cells {
		if o.Shard.Has(place) {
			out = append(out, c)
		}
	}
	return out
}

// Cell runs one cell as often as is asked for; kept says that all of it was there.
func (o MatrixOptions) Cell(ctx context.Context, x *RemoteExecutor, c scenarios.Cell) (sum results.Cell, kept bool, err error) {
	kept = true
	sum = results.Cell{Scenario: c.Scenario.Name, Lock: c.Lock, Fencing: c.Fencing, Met: checker.True, Valid: checker.True, Found: map[string]int{}, Service: serviceOf(o.Table, c.Lock, o.Cluster)}
	if e := c.Scenario.Expected(catalogued(o.Table, c.Lock), c.Fencing); e != nil {
		sum.Expected, sum.Must = e.String(), e.Must
	}
	for i := range max(1, o.Runs) {
		dir := filepath.Join(o.Out, CellsFolder, cellName(c), strconv.Itoa(i+1))
		one, err := results.ReadCell(filepath.Join(dir, results.CellFile))
		text, rerr := os.ReadFile(filepath.Join(dir, results.ScenarioFile))
		if err != nil || rerr != nil || one.CutShort || !bytes.Equal(text, c.Scenario.Text) || !slices.Equal(one.Command, o.command(c)) {
			kept = false
			if one, err = o.once(ctx, x, c, dir); err != nil {
				return sum, false, err
			}
		}
		if rel, err := filepath.Rel(o.Out, dir); err == nil {
			one.Dir = filepath.ToSlash(rel)
		}
		sum.Add(one)
		if one.LeftOut != "" {
			break
		}
	}
	return sum, kept, nil
}

var unsafeInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-zA-Z0-9.-]+`) })

func cellName(c scenarios.Cell) string {
	name := strings.Trim(unsafeInName().ReplaceAllString(c.Lock, "-"), ".-")
	return c.Scenario.Name + "_" + name[:min(len(name), 60)] + "_" + c.Fencing
}

// command is how a user would run a cell.
func (o MatrixOptions) command(c scenarios.Cell) []string {
	one := ScenarioOptions{Scenario: c.Scenario, Lock: c.Lock, Fencing: c.Fencing, Cluster: o.Cluster, Host: Host{Extra: o.Extra, Abilities: o.Abilities}}.ScenarioCommand()
	if o.Runtime != "" && o.Runtime != "local" {
		one = append(one, "--runtime", o.Runtime)
	}
	if o.ClientImage != "" {
		one = append(one, "--client-image", o.ClientImage)
	}
	return one
}

// once makes one run of a cell.
func (o MatrixOptions) once(ctx context.Context, x *RemoteExecutor, c scenarios.Cell, dir string) (results.Cell, error) {
	// What an interruption left behind is no result. The folder is below ours.
	if err := os.RemoveAll(dir); err != nil {
		return results.Cell{}, fmt.Errorf("clear an unfinished cell: %w", err)
	}
	order := NewCellOrder(c, dir)
	order.Cluster, order.Extra, order.Abilities, order.Seed, order.Again = o.Cluster, o.Extra, o.Abilities, rand.Uint64N(1<<32), o.command(c)
	one, err := x.Run(ctx, order)
	if ctx.Err() != nil {
		return results.Cell{}, ctx.Err()
	}
	if one.Scenario == "" { // it came to no result of its own
		one.Scenario, one.Lock, one.Fencing, one.Runs = c.Scenario.Name, c.Lock, c.Fencing, 1
	}
	if err != nil {
		one.Met, one.Why = checker.Unknown, "picklock itself failed: "+lastLine(err.Error())
	}
	return one, nil
}

// lastLine is the last thing that the program said, without the lines of others' logs below it.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, l := range slices.Backward(lines) {
		if said, ok := strings.CutPrefix(l, "picklock: "); ok {
			return said
		}
	}
	return lines[len(lines)-1]
}
