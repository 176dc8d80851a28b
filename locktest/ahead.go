package locktest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/results"
)

// A scenario mostly waits, for leases and timeouts: some are run at a time, ahead of
// the subtests that tell what came of them.
type ahead struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	files   string // what the experiment needs as long as it lasts
	missed  string // what to say where no testbed got as far as this call
	program string
	plays   []play
	results []chan result
	asked   int // how many are handed out; used by the test's goroutine only
	idle    chan *harness.RemoteExecutor
}

// play is a scenario to be run.
type play struct {
	name string
	harness.CellOrder
}

type result struct {
	cell results.Cell
	err  error
}

// runAhead prepares to run scenarios on the lock of an order. Nothing is run before its first result
// is asked for.
func runAhead(ctx context.Context, x order, plays []play, atATime int) (*ahead, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the test binary: %w", err)
	}
	a := &ahead{missed: x.missed(), plays: plays, results: make([]chan result, len(plays)), idle: make(chan *harness.RemoteExecutor, atATime)}
	if a.files, err = os.MkdirTemp("", "picklock-locktest-"); err != nil {
		return nil, err
	}
	if a.program, err = writeProgram(a.files, self, x); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare: %w", err), os.RemoveAll(a.files))
	}
	for i := range atATime {
		a.idle <- harness.NewRemoteExecutor(harness.RemoteOptions{Self: a.program, Runtime: "local", Dir: filepath.Join(a.files, harness.TestbedsFolder, strconv.Itoa(i+1))})
	}
	a.ctx, a.cancel = context.WithCancel(ctx)
	for i := range plays {
		a.results[i] = make(chan result, 1)
	}
	return a, nil
}

// result is what came of the i-th scenario; the order of the calls is that of the scenarios.
func (a *ahead) result(i int) result {
	a.asked = max(a.asked, i)
	for a.asked < len(a.plays) && a.asked < i+cap(a.idle) {
		n := a.asked
		a.asked++
		a.running.Go(func() {
			c, err := a.run(a.plays[n])
			a.results[n] <- result{c, err}
		})
	}
	return <-a.results[i]
}

func (a *ahead) run(p play) (results.Cell, error) {
	// What an earlier test left there is not to be mixed with this one's.
	if _, err := os.Stat(filepath.Join(p.Out, results.RunFile)); err == nil {
		if err := os.RemoveAll(p.Out); err != nil {
			return results.Cell{}, fmt.Errorf("clear the folder of an earlier run: %w", err)
		}
	}
	x := <-a.idle
	defer func() { a.idle <- x }()
	c, err := x.Run(a.ctx, p.CellOrder)
	if err == nil {
		return c, nil
	}
	if _, none := os.Stat(came(a.program)); none != nil {
		err = errors.New(a.missed) // rather than what a test binary says where it runs no test
	}
	said := crash(filepath.Join(a.files, harness.TestbedsFolder, "*", "*", "*"))
	return c, fmt.Errorf("run %s: %w%s", p.name, err, said)
}

// stop ends what nobody has asked for, and all that is up.
func (a *ahead) stop() error {
	a.cancel()
	a.running.Wait()
	var errs []error
	for range cap(a.idle) {
		errs = append(errs, (<-a.idle).Close())
	}
	return errors.Join(append(errs, os.RemoveAll(a.files))...)
}

// atATime is how many scenarios are run side by side: one where they share servers,
// or where only some of them are asked for (go test -run Test/scenario).
func (o *Options) atATime() int {
	run := flag.Lookup("test.run")
	if len(o.Servers) > 0 || run != nil && strings.Contains(run.Value.String(), "/") {
		return 1
	}
	return runtime.NumCPU() // each has a cluster and clients of its own
}
