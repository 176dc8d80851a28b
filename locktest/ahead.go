package locktest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/picklock/picklock/results"
)

// A scenario mostly waits, for leases and timeouts: some are run at a time, ahead of
// the subtests that tell what came of them.
type ahead struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	orders  []order
	results []chan result
	asked   int // how many are handed out; used by the test's goroutine only
	atATime int
}

type result struct {
	cell results.Cell
	err  error
}

// run prepares to carry out orders. Nothing is run before its first result is asked
// for.
func runAll(ctx context.Context, orders []order, atATime int) *ahead {
	a := &ahead{orders: orders, atATime: atATime, results: make([]chan result, len(orders))}
	a.ctx, a.cancel = context.WithCancel(ctx)
	for i := range orders {
		a.results[i] = make(chan result, 1)
	}
	return a
}

// result is what came of the i-th order; the order of the calls is that of the orders.
func (a *ahead) result(i int) result {
	a.asked = max(a.asked, i)
	for a.asked < len(a.orders) && a.asked < i+a.atATime {
		n := a.asked
		a.asked++
		a.running.Go(func() {
			c, err := a.orders[n].carryOut(a.ctx)
			a.results[n] <- result{c, err}
		})
	}
	return <-a.results[i]
}

// stop ends what nobody has asked for.
func (a *ahead) stop() {
	a.cancel()
	a.running.Wait()
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

// execute has a scenario run in a process of its own.
func (x order) carryOut(ctx context.Context) (results.Cell, error) {
	// What an earlier test left there is not to be mixed with this one's.
	if _, err := os.Stat(filepath.Join(x.Out, results.RunFile)); err == nil {
		if err := os.RemoveAll(x.Out); err != nil {
			return results.Cell{}, fmt.Errorf("clear the folder of an earlier run: %w", err)
		}
	}
	return inProcess(ctx, x)
}
