// Command fleet-scale measures how many workers one queue can feed. Simulated workers, which only wait
// as long as an item takes, take items off a real JetStream, send heartbeats, and send results as
// large as those of a slice.
//
//	go run ./scripts/fleet-scale [-workers 1,10,100,1000] [-item 20s] [-for 60s] [-jobs 40]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/hunt"
)

var (
	counts = flag.String("workers", "1,10,100,300,1000", "how many workers there are")
	item   = flag.Duration("item", 20*time.Second, "how long an item takes, on average")
	length = flag.Duration("for", time.Minute, "how long each number of workers works")
	jobs   = flag.Int("jobs", 40, "how many jobs the campaign has")
	states = flag.Int("states", 1500, "how many states a slice's portion has")
)

func main() {
	flag.Parse()
	fmt.Printf("items of %v, %d jobs, %v each, on %d CPUs that the workers share\n\n| workers | items a second | of what there could be | CPU | wait for an item, median and 99 %% | memory |\n|---|---|---|---|---|---|\n", *item, *jobs, *length, runtime.NumCPU())
	for _, text := range strings.Split(*counts, ",") {
		n, err := strconv.Atoi(text)
		if err == nil {
			err = measure(context.Background(), n)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "fleet-scale:", err)
			os.Exit(1)
		}
	}
}

func measure(ctx context.Context, n int) (err error) {
	dir, err := os.MkdirTemp("", "fleet-scale-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := stream.Serve(stream.ServerOptions{Dir: dir, Listen: "127.0.0.1:0", Token: "scale"})
	if err != nil {
		return err
	}
	defer s.Close()
	q, err := connect(ctx, s)
	if err != nil {
		return err
	}
	defer q.Close()
	list := make([]fleet.Job, *jobs)
	for i := range list {
		list[i] = fleet.Job{Number: i, Name: "job " + strconv.Itoa(i)}
	}
	c, err := q.Create(ctx, stream.About{ID: "scale", Name: "scale", Version: "v", Jobs: *jobs, Started: time.Now()}, list)
	if err != nil {
		return err
	}
	each := 2*n*int(*length / *item) / *jobs + 5
	for j := range *jobs {
		var items []fleet.Item
		for i := range each {
			items = append(items, fleet.Item{Job: j, Kind: fleet.Slice, Number: i, End: 1})
		}
		if err := c.Send(ctx, items); err != nil {
			return err
		}
	}
	return work(ctx, s, n)
}

func connect(ctx context.Context, s *stream.Server) (*stream.Queue, error) {
	return stream.Connect(ctx, stream.Options{URL: s.URL(), Token: "scale"})
}

// work lets n workers work, and prints the measurements.
func work(ctx context.Context, s *stream.Server, n int) error {
	payload := &fleet.Payload{Portion: &hunt.Portion{States: make([]uint64, *states)}}
	for i := range payload.Portion.States {
		payload.Portion.States[i] = rand.Uint64()
	}
	var done, busy atomic.Int64
	waits := make(chan time.Duration, 1<<20)
	began, before := time.Now(), cpu()
	bounded, cancel := context.WithDeadline(ctx, began.Add(*length))
	defer cancel()
	g, bounded := errgroup.WithContext(bounded)
	for i := range n {
		g.Go(func() error {
			q, err := connect(ctx, s)
			if err != nil {
				return err
			}
			defer q.Close()
			w := simulated{q: q, name: fmt.Sprintf("w%d", i), job: i % *jobs, payload: payload, waits: waits}
			defer w.close()
			for bounded.Err() == nil {
				took, err := w.one(bounded)
				if err != nil && bounded.Err() == nil {
					return err
				}
				if err == nil && took > 0 {
					done.Add(1)
					busy.Add(int64(took))
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	elapsed := time.Since(began)
	close(waits)
	median, late := quantiles(waits)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Printf("| %d | %.1f | %.0f %% | %.0f %% of a CPU | %v, %v | %d MB |\n", n, float64(done.Load())/elapsed.Seconds(),
		100*float64(busy.Load())/float64(elapsed)/float64(n), 100*(cpu()-before).Seconds()/elapsed.Seconds(), median, late, m.Sys>>20)
	return nil
}

// cpu is the CPU time of the process so far: of the server and the workers.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
