package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/fleet/worker"
	"github.com/picklock/picklock/internal/scratch"
)

// fleetWorkerFlags are the flags of a worker.
type fleetWorkerFlags struct {
	queue     queueFlags
	locks     []string
	allowExec bool
	docker    bool
	images    []string
	jobs      int
	name, dir string
	drain     bool
}

func fleetWorkerCommand() *cobra.Command {
	var f fleetWorkerFlags
	c := &cobra.Command{
		Use: "worker", Short: "Take work items of campaigns off a queue and run them", Args: noArguments,
		Long: `Take work items of campaigns off a queue, run them on this machine, and send back the results.
Start and end any number of workers at any time. If a worker ends, another one gets its item.

A worker runs only what it has itself: the locks that picklock knows, or those of --locks, on
picklock's own clusters. --allow-docker allows runtime: docker, with the images of these clusters
and those of --images. exec: locks, Compose files, endpoints and any image that a campaign names
need --allow-exec.`,
		Example: `  picklock fleet worker --queue nats://queue.example:4222
  picklock fleet worker --queue tls://queue.example:4222 --queue-ca ca.pem --locks redis,etcd
  picklock fleet worker --queue nats://127.0.0.1:4222 --drain`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context()) },
	}
	fl := c.Flags()
	f.queue.add(c)
	fl.StringSliceVar(&f.locks, "locks", nil, "run these locks only (default: all)")
	fl.BoolVar(&f.allowExec, "allow-exec", false, "run programs, Compose files, endpoints and images that a campaign names")
	fl.BoolVar(&f.docker, "allow-docker", false, "run campaigns with runtime: docker, on images of picklock's own clusters and of --images")
	fl.StringSliceVar(&f.images, "images", nil, "let campaigns choose these images, as redis:7.4,etcd:3.6")
	fl.IntVar(&f.jobs, "jobs", 0, "run this many schedules or cells side by side (default: by the machine)")
	fl.StringVar(&f.name, "name", "", "use this name for the worker (default: the machine's name and the process id)")
	fl.StringVar(&f.dir, "dir", "", "keep the servers' logs and data in this folder (default: a temporary one)")
	fl.BoolVar(&f.drain, "drain", false, "end when all campaigns of the queue have ended, or after --wait without an item")
	return c
}

func (f *fleetWorkerFlags) run(ctx context.Context) (err error) {
	if f.queue.url == "" {
		return usage(errors.New("say which queue: --queue nats://HOST:PORT"))
	}
	if err := f.queue.check(); err != nil {
		return usage(err)
	}
	o, end, err := f.options()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if o.Queue, err = f.queue.connect(ctx, o.Name, stream.Worker, nil); err != nil {
		if ctx.Err() != nil {
			return nil // the user ended it, and it has no item
		}
		return err
	}
	defer o.Queue.Close()
	if err := hideToken(); err != nil {
		return fmt.Errorf("hide the token from child processes: %w", err)
	}
	return worker.Run(ctx, o)
}

// options are the worker's options without its queue; end removes its temporary folder.
func (f *fleetWorkerFlags) options() (o worker.Options, end func() error, err error) {
	end = func() error { return nil }
	for i, l := range f.locks {
		info, err := lockTable.Lookup(l)
		if err != nil {
			return o, end, usage(fmt.Errorf("--locks: %w", err))
		}
		f.locks[i] = info.Name
	}
	if f.jobs < 0 || f.jobs > 64 {
		return o, end, usage(fmt.Errorf("--jobs %d: want 1 to 64", f.jobs))
	}
	o = worker.Options{
		Table: lockTable, Name: f.name, Locks: f.locks, AllowExec: f.allowExec, AllowDocker: f.docker, Images: f.images, Jobs: f.jobs, Dir: f.dir, Drain: f.drain, Wait: f.queue.wait,
		Say: func(text string) { fmt.Fprintf(os.Stderr, "picklock: %s %s\n", time.Now().Format("15:04:05"), text) },
	}
	if o.Self, err = os.Executable(); err != nil {
		return o, end, fmt.Errorf("find the picklock program: %w", err)
	}
	if o.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return o, end, fmt.Errorf("find the machine's name: %w (give one with --name)", err)
		}
		o.Name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	if o.Dir == "" {
		dir, err := scratch.Make()
		if err != nil {
			return o, end, fmt.Errorf("make a folder to work in: %w (name one with --dir)", err)
		}
		o.Dir, end = dir.Path, dir.Remove
	} else if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return o, end, usage(fmt.Errorf("--dir: %w", err))
	}
	return o, end, nil
}
