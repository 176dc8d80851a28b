// Command fleet-soak runs one campaign twice: alone on one machine, and over a NATS server with
// workers, where it kills workers and server at random moments. No result may be lost or count
// twice, and both must find the same counterexamples.
//
//	go run ./scripts/fleet-soak [-workers 4] [-kills 20] [-server-kills 2] [-out FOLDER] [-locks a,b]
//	go run ./scripts/fleet-soak -swarm ...
//
// It needs bin/picklock. With -swarm the coordinator, the workers and the NATS server are
// containers of a Docker Swarm on this machine, which restarts them. It needs the image of the same
// bin/picklock (make fleet ARGS=image).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/picklock/picklock/clients/all"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/hunt"
)

var (
	workers     = flag.Int("workers", 4, "how many workers there are at a time")
	kills       = flag.Int("kills", 20, "how many of them are killed")
	serverKills = flag.Int("server-kills", 2, "how often the NATS server is killed and started again")
	every       = flag.Duration("every", 6*time.Second, "the mean time between two kills")
	out         = flag.String("out", "", "folder of all that is written (default: a temporary one)")
	locks       = flag.String("locks", "redis-del,redis-setnx,redis-incr,redis,redislock,redis-lua", "the locks of the hunt")
	program     = flag.String("picklock", "bin/picklock", "the program")
	slice       = flag.Int("slice", 20, "schedules in an item")
	faults      = flag.String("faults", "pause:client", "kinds of fault")
	inSwarm     = flag.Bool("swarm", false, "in containers of a Docker Swarm")
	limit       = flag.Duration("limit", 30*time.Minute, "how long the campaign with kills may take")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet-soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	if *out == "" {
		if *out, err = os.MkdirTemp("", "fleet-soak-"); err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	if *program, err = filepath.Abs(*program); err != nil {
		return err
	}
	file := filepath.Join(*out, "soak.yaml")
	text := fmt.Sprintf("name: soak\ntasks:\n  - hunt: {locks: [%s], max-faults: 1, faults: [%s], slice: %d, finish: 1m, replays: 5, seed: 1}\n", *locks, *faults, *slice)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the campaign: %w", err)
	}
	sizes, err := spaces(ctx, file)
	if err != nil {
		return err
	}
	fmt.Println("fleet-soak: all of it is in", *out)
	alone, err := campaign(ctx, file, "alone")
	if err != nil {
		return err
	}
	with := killed
	if *inSwarm {
		with = swarmed
	}
	bounded, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	many, err := with(bounded, file)
	if err != nil {
		return err
	}
	return compare(sizes, alone, many)
}

// outcome is the result of a campaign.
type outcome struct {
	report fleet.Report
	hunts  []hunt.Result
	took   time.Duration
}

// campaign runs the campaign and reads its results. Exit code 1 says that a job failed.
func campaign(ctx context.Context, file, name string, args ...string) (*outcome, error) {
	dir := filepath.Join(*out, name)
	began := time.Now()
	c := command(ctx, name, append([]string{"fleet", "run", file, "--out", dir}, args...)...)
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, fmt.Errorf("the campaign %s: %w (see %s)", name, err, dir)
	}
	return left(dir, time.Since(began))
}

// left reads the results in a campaign's folder.
func left(dir string, took time.Duration) (*outcome, error) {
	o := &outcome{took: took}
	if err := read(filepath.Join(dir, "campaign.json"), &o.report); err != nil {
		return nil, err
	}
	for _, j := range o.report.Jobs {
		var h hunt.Result
		if err := read(filepath.Join(dir, j.Folder, "hunt.json"), &h); err != nil {
			return nil, err
		}
		o.hunts = append(o.hunts, h)
	}
	return o, nil
}

func read(path string, v any) error {
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

const token = "soak"

// command is picklock with its output in a file.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, *program, args...)
	c.Env = append(os.Environ(), "PICKLOCK_QUEUE_TOKEN="+token)
	if log, err := os.OpenFile(filepath.Join(*out, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err == nil {
		c.Stdout, c.Stderr = log, log
	}
	return c
}

// killed runs the campaign with many workers, and kills them.
func killed(ctx context.Context, file string) (*outcome, error) {
	server, err := newServer(ctx)
	if err != nil {
		return nil, err
	}
	if err := server.start(); err != nil {
		return nil, err
	}
	defer server.kill()
	g, ctx := errgroup.WithContext(ctx)
	ctx, end := context.WithCancel(ctx)
	var o *outcome
	g.Go(func() (err error) {
		defer end()
		o, err = campaign(ctx, file, "many", "--queue", server.url)
		return err
	})
	all := make([]*restarted, *workers)
	for i := range all {
		all[i] = &restarted{name: fmt.Sprintf("worker-%d", i), url: server.url}
		g.Go(func() error { return all[i].run(ctx) })
	}
	g.Go(func() error { return strike(ctx, processes{server, all}) })
	return o, g.Wait()
}

// prey is what strike kills. All of it starts again.
type prey interface {
	killServer(ctx context.Context) error
	killWorker(ctx context.Context, rng *rand.Rand) error
}

// processes are a server and workers on this machine.
type processes struct {
	server *natsServer
	all    []*restarted
}

func (p processes) killServer(context.Context) error {
	fmt.Println("fleet-soak: kill the NATS server")
	p.server.kill()
	return p.server.start()
}

func (p processes) killWorker(_ context.Context, rng *rand.Rand) error {
	p.all[rng.IntN(len(p.all))].kill()
	return nil
}

// strike kills workers and the server at random moments.
func strike(ctx context.Context, all prey) error {
	rng := rand.New(rand.NewPCG(1, 2))
	left, serverLeft := *kills, *serverKills
	for left+serverLeft > 0 {
		select {
		case <-ctx.Done():
			fmt.Printf("fleet-soak: the campaign ended with %d kills of workers and %d of the server to come\n", left, serverLeft)
			return nil
		case <-time.After(time.Duration(rng.Int64N(int64(2 * *every)))):
		}
		var err error
		if rng.IntN(left+serverLeft) < serverLeft {
			serverLeft--
			err = all.killServer(ctx)
		} else {
			left--
			err = all.killWorker(ctx, rng)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	fmt.Printf("fleet-soak: %d workers and %d times the server were killed\n", *kills, *serverKills)
	return nil
}

// compare reports what is lost, counted twice, or found on one side only.
func compare(sizes []int, alone, many *outcome) error {
	var wrong []string
	for i, a := range alone.hunts {
		m := many.hunts[i]
		name := alone.report.Jobs[i].Name
		fmt.Printf("fleet-soak: %s: alone %s; many %s\n", name, words(a), words(m))
		for d := range a.Depths {
			if a.Depths[d].Done != m.Depths[d].Done || !m.Depths[d].Done {
				wrong = append(wrong, fmt.Sprintf("%s: depth %d: complete alone %v, with many %v", name, d, a.Depths[d].Done, m.Depths[d].Done))
			}
		}
		for _, o := range []*outcome{alone, many} {
			j := o.report.Jobs[i]
			if schedules(o.hunts[i]) > sizes[i] {
				wrong = append(wrong, fmt.Sprintf("%s: %d schedules were run, and there are %d", name, schedules(o.hunts[i]), sizes[i]))
			}
			if j.Unmeasured > 0 {
				fmt.Printf("fleet-soak: %s: %d counterexamples were not replayed, the time for that was over\n", name, j.Unmeasured)
			}
			if len(j.DeadLetters) > 0 || j.Skipped > 0 {
				wrong = append(wrong, fmt.Sprintf("%s: %d items skipped, and dead-lettered: %v", name, j.Skipped, j.DeadLetters))
			}
		}
		for _, one := range []struct {
			side     string
			has, not hunt.Result
		}{{"alone", a, m}, {"with many", m, a}} {
			found := names(one.not, false)
			for _, w := range names(one.has, true) {
				if !slices.Contains(found, w) {
					wrong = append(wrong, fmt.Sprintf("%s: %s %q is reproducible, the other side has only %q", name, one.side, w, found))
				}
			}
		}
	}
	fmt.Printf("fleet-soak: alone %v, many %v\n", alone.took.Round(time.Second), many.took.Round(time.Second))
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	fmt.Println("fleet-soak: both found the same, and nothing is missing")
	return nil
}

// schedules is how many schedules of the space were run. A hunt leaves out schedules that it knows
// to be impossible, so that these may be fewer than there are.
func schedules(r hunt.Result) int {
	n := 0
	for _, d := range r.Depths {
		n += d.Ran + d.Discarded
	}
	return n
}

func words(r hunt.Result) string {
	return fmt.Sprintf("%d schedules, %d counterexamples", schedules(r), len(r.Counterexamples))
}

// spaces are the numbers of schedules, by job.
func spaces(ctx context.Context, file string) ([]int, error) {
	c, err := fleet.Load(file)
	if err != nil {
		return nil, err
	}
	jobs, err := c.Jobs(ctx, all.Locks())
	if err != nil {
		return nil, err
	}
	var out []int
	for _, j := range jobs {
		out = append(out, j.Hunt.Size())
	}
	return out, nil
}

// names are the counterexamples, or the reproducible ones. Whether a hunt sees a race is chance, and
// how far it shrinks a stale write depends on its time. The other side must find what is
// reproducible on one. Its rate there depends on the load of the machine.
func names(r hunt.Result, reproducible bool) []string {
	var out []string
	for _, w := range r.Counterexamples {
		switch {
		case reproducible && (!w.Steady() || 10*w.Search.Hits < 7*w.Search.Runs):
		case w.LeaseHazard():
			out = append(out, w.Signature.Name())
		default:
			out = append(out, w.String())
		}
	}
	slices.Sort(out)
	return out
}
