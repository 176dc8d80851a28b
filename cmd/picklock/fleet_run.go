package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/fleet/coordinator"
	fleetstatus "github.com/picklock/picklock/fleet/status"
	"github.com/picklock/picklock/fleet/stream"
	"github.com/picklock/picklock/fleet/worker"
	"github.com/picklock/picklock/internal/format"
	"github.com/picklock/picklock/results"
)

// fleetRunFlags are the flags of a campaign.
type fleetRunFlags struct {
	queue            queueFlags
	work             fleetWorkerFlags
	serve, cert, key string
	out, against     string
	alsoWork, plan   bool
	asJSON           bool
	id               string
	campaign         *fleet.Campaign
	jobs             []fleet.Job
	changes          []fleet.Change
	text             []byte
	server           *stream.Server
	before           *fleet.Report
}

func fleetRunCommand() *cobra.Command {
	var f fleetRunFlags
	c := &cobra.Command{
		Use: "run FILE", Short: "Run a campaign on this machine, or coordinate its workers",
		Long: `Run the hunts, matrices and runs that a file lists:

    name: nightly
    tasks:
      - hunt:   {locks: [redis-lua, etcd], fencing: [none, read-write], duration: 10m}
      - matrix: {locks: [redis], scenarios: [pause-holder, delayed-write]}
      - run:    {locks: [etcd], faults: [all], fencing: [read-write], duration: 1m, count: 10}

On one machine no setup is needed. With --queue the items go to a NATS server with JetStream.
With --serve they go to a server in this process. Any number of picklock fleet worker take them
from there. While the campaign runs, campaign.html in the --out folder shows its progress. If a
campaign was interrupted, the same command with the same --out continues it.

Exit codes: 0 pass, 1 something failed, 2 unknown, 254 unusable arguments, 255 picklock itself
failed. With --against the exit code is 1 only if something failed that passed in the earlier
campaign.`,
		Example: `  picklock fleet run nightly.yaml
  picklock fleet run nightly.yaml --serve :4222         # elsewhere: picklock fleet worker --queue nats://...
  picklock fleet run nightly.yaml --queue nats://queue.example:4222
  picklock fleet run nightly.yaml --out today --against yesterday`,
		Args: oneArgument("a campaign's file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("work") {
				f.alsoWork = f.queue.url == "" && f.serve == ""
			}
			return f.run(cmd.Context(), args[0])
		},
	}
	fl := c.Flags()
	f.queue.add(c)
	fl.StringVar(&f.serve, "serve", "", "let workers on other machines connect: listen on this address, as 0.0.0.0:4222; needs "+tokenVariable+" or "+tokenFileVariable+" unless it is loopback")
	fl.StringVar(&f.cert, "serve-cert", "", "with --serve: file of the certificate, so that all clients use TLS")
	fl.StringVar(&f.key, "serve-key", "", "with --serve: file of its key")
	fl.StringVar(&f.out, "out", "", "folder of the results, and of the queue's files (default: a new one below ./picklock-results)")
	fl.StringVar(&f.against, "against", "", "compare with the campaign in this folder")
	fl.BoolVar(&f.alsoWork, "work", false, "run a worker in this process, too (default: if neither --queue nor --serve is given)")
	fl.BoolVar(&f.work.allowExec, "allow-exec", true, "with --work: run programs, Compose files, endpoints and images that the file names")
	fl.IntVar(&f.work.jobs, "jobs", 0, "with --work: run this many schedules or cells side by side (default: by the machine)")
	fl.BoolVar(&f.plan, "dry-run", false, "print the plan, and run nothing")
	fl.BoolVar(&f.asJSON, "json", false, "print the result as JSON")
	return c
}

func (f *fleetRunFlags) run(ctx context.Context, file string) (err error) {
	if err := f.check(ctx, file); err != nil {
		return usage(err)
	}
	if f.plan {
		return f.sayPlan(os.Stdout)
	}
	if err := f.open(); err != nil {
		return err
	}
	if f.queue.url == "" {
		token, err := queueToken()
		if err != nil {
			return usage(err)
		}
		f.server, err = stream.Serve(stream.ServerOptions{Dir: filepath.Join(f.out, queueFolder), Listen: f.serve, Token: token, Certificate: f.cert, Key: f.key})
		if err != nil {
			return usage(err)
		}
		defer f.server.Close()
		if f.serve != "" {
			fmt.Fprintf(os.Stderr, "picklock: workers: picklock fleet worker --queue %s\n", strings.Join(f.server.URLs(), ", or --queue "))
		}
	}
	fmt.Fprintf(os.Stderr, "picklock: page: %s\n", filepath.Join(f.out, fleetstatus.PageFile))
	out, err := f.lead(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: the same command with --out %s continues", f.out)
		}
		return err
	}
	if f.before != nil {
		f.changes = out.Report.Compare(f.before)
		out.Against, out.Changes = f.against, f.changes
	}
	if err := out.Write(f.out); err != nil {
		return err
	}
	if f.server != nil {
		if err := f.server.Dismiss(ctx); err != nil {
			return err
		}
	}
	return f.report(out.Report)
}

func (f *fleetRunFlags) check(ctx context.Context, file string) (err error) {
	if f.queue.url != "" && f.serve != "" {
		return errors.New("--queue names an existing queue, --serve makes one: give one of them")
	}
	if (f.cert != "" || f.key != "") && (f.serve == "" || f.cert == "" || f.key == "") {
		return errors.New("--serve-cert and --serve-key need each other, and --serve")
	}
	if err := f.queue.check(); err != nil {
		return err
	}
	if f.text, err = os.ReadFile(file); err != nil {
		return fmt.Errorf("read the campaign: %w", err)
	}
	if f.campaign, err = fleet.Load(file); err != nil {
		return err
	}
	if f.jobs, err = f.campaign.Jobs(ctx, lockTable); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if f.against != "" {
		f.before, err = coordinator.Read(f.against)
	}
	return err
}

// sayPlan lists the jobs.
func (f *fleetRunFlags) sayPlan(w io.Writer) error {
	var b strings.Builder
	items := 0
	for _, j := range f.jobs {
		n := len(j.Items())
		items += n
		what := fmt.Sprintf("%d %s", len(j.Cells), format.Noun(len(j.Cells), "cell", "cells"))
		if j.Hunt != nil {
			what = fmt.Sprintf("%d schedules with up to %d %s", j.Hunt.Size(), j.Hunt.Depth, format.Noun(j.Hunt.Depth, "fault", "faults"))
		}
		fmt.Fprintf(&b, "%3d  %-40s %s, %d %s\n", j.Number+1, j.Name, what, n, format.Noun(n, "item", "items"))
	}
	fmt.Fprintf(&b, "%d %s, %d %s\n", len(f.jobs), format.Noun(len(f.jobs), "job", "jobs"), items, format.Noun(items, "item", "items"))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print the plan: %w", err)
	}
	return nil
}

// The files of a campaign's folder beside its results.
const (
	queueFolder  = "queue"
	campaignFile = "campaign.yaml" // a copy of the user's file
	idFile       = "campaign.id"
)

// open makes the campaign's folder, or opens that of a campaign to continue.
func (f *fleetRunFlags) open() error {
	if f.out == "" {
		f.out = filepath.Join(results.Root, time.Now().Format("20060102-150405")+"-"+f.campaign.Name)
	}
	id, err := os.ReadFile(filepath.Join(f.out, idFile))
	switch {
	case err == nil:
		text, err := os.ReadFile(filepath.Join(f.out, campaignFile))
		if err != nil {
			return usage(fmt.Errorf("--out: read the campaign to continue: %w", err))
		}
		if !bytes.Equal(text, f.text) {
			return usage(fmt.Errorf("--out %s belongs to another campaign: its %s differs from this file; name another folder", f.out, campaignFile))
		}
		f.id = strings.TrimSpace(string(id))
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return usage(fmt.Errorf("--out: %w", err))
	}
	if entries, err := os.ReadDir(f.out); err == nil && len(entries) > 0 {
		return usage(fmt.Errorf("%s is not empty and holds no campaign: name another folder with --out", f.out))
	}
	var drawn [4]byte
	if _, err := rand.Read(drawn[:]); err != nil {
		return fmt.Errorf("draw the campaign's id: %w", err)
	}
	f.id = f.campaign.Name + "-" + hex.EncodeToString(drawn[:])
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return usage(fmt.Errorf("--out: %w", err))
	}
	for name, text := range map[string][]byte{campaignFile: f.text, idFile: []byte(f.id + "\n")} {
		if err := os.WriteFile(filepath.Join(f.out, name), text, 0o644); err != nil {
			return fmt.Errorf("store the campaign: %w", err)
		}
	}
	return nil
}

// lead coordinates the campaign, and runs a worker beside that if the flags say so.
func (f *fleetRunFlags) lead(ctx context.Context) (_ *coordinator.Outcome, err error) {
	q, err := f.queue.connect(ctx, "coordinator of "+f.id, stream.Coordinator, f.server)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if f.alsoWork {
		stop, failed := f.workBeside(ctx, cancel)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	p := &campaignProgress{out: os.Stderr}
	return coordinator.Run(ctx, coordinator.Options{Queue: q, ID: f.id, Name: f.campaign.Name, Jobs: f.jobs, OnProgress: p.print, Dir: f.out})
}

// workBeside starts a worker in this process; stop ends it. If the worker fails, the campaign ends,
// because there may be no other worker.
func (f *fleetRunFlags) workBeside(ctx context.Context, cancel context.CancelCauseFunc) (stop func() error, err error) {
	o, end, err := f.work.options()
	if err != nil {
		return nil, err
	}
	if o.Queue, err = f.queue.connect(ctx, o.Name, stream.Worker, f.server); err != nil {
		return nil, errors.Join(err, end())
	}
	if err := hideToken(); err != nil {
		o.Queue.Close()
		return nil, errors.Join(fmt.Errorf("hide the token from child processes: %w", err), end())
	}
	o.Campaign = f.id
	over := make(chan error, 1)
	go func() {
		err := worker.Run(ctx, o)
		if err != nil {
			cancel(err)
		}
		over <- err
	}()
	return func() error {
		cancel(nil)
		err := errors.Join(<-over, end())
		o.Queue.Close()
		return err
	}, nil
}

// report prints the result of the campaign. Its error has the exit code.
func (f *fleetRunFlags) report(r *fleet.Report) error {
	valid := r.Valid()
	if f.before != nil {
		valid = fleet.Regressed(f.changes)
	}
	var err error
	if f.asJSON {
		err = printJSON(struct {
			*fleet.Report
			Changes []fleet.Change `json:"changes,omitempty"`
		}{r, f.changes})
	} else {
		_, err = io.WriteString(os.Stdout, f.words(r))
	}
	if err != nil {
		return fmt.Errorf("print the campaign: %w", err)
	}
	return met(valid)
}

func (f *fleetRunFlags) words(r *fleet.Report) string {
	var b strings.Builder
	for _, j := range r.Jobs {
		fmt.Fprintf(&b, "%-7s %s: %s\n", fleetstatus.Word(j.Valid.String()), fleetstatus.Clean(j.Name), fleetstatus.Clean(j.Headline))
		for _, x := range j.Findings {
			fmt.Fprintf(&b, "        %s\n", fleetstatus.Clean(x.String()))
		}
		for _, d := range j.DeadLetters {
			fmt.Fprintf(&b, "        dead-lettered %s: %s\n", d.Item, fleetstatus.Clean(d.Why))
		}
	}
	if f.before != nil {
		fmt.Fprintf(&b, "\nagainst %s:\n", f.against)
		for _, c := range f.changes {
			fmt.Fprintf(&b, "  %s: %s, before: %s\n", fleetstatus.Clean(c.Job), fleetstatus.Word(c.Now), fleetstatus.Word(c.Before))
			for _, x := range c.New {
				fmt.Fprintf(&b, "    new:  %s\n", fleetstatus.Clean(x.String()))
			}
			for _, x := range c.Gone {
				fmt.Fprintf(&b, "    gone: %s\n", fleetstatus.Clean(x.String()))
			}
		}
		if len(f.changes) == 0 {
			b.WriteString("  nothing differs\n")
		}
	}
	fmt.Fprintf(&b, "results: %s\n", filepath.Join(f.out, fleetstatus.PageFile))
	return b.String()
}

// campaignProgress prints the progress of a campaign.
type campaignProgress struct {
	out  io.Writer
	last time.Time
}

// print prints the progress, at most every second.
func (u *campaignProgress) print(p coordinator.Progress) {
	if time.Since(u.last) < time.Second && p.Done < p.Items {
		return
	}
	u.last = time.Now()
	dead := ""
	if p.DeadLettered > 0 {
		dead = fmt.Sprintf(", %d dead-lettered", p.DeadLettered)
	}
	if p.Foreign > 0 {
		dead += fmt.Sprintf(", %d results of no item ignored", p.Foreign)
	}
	fmt.Fprintf(u.out, "picklock: %4.0f s  %d of %d items%s, %d runs, %d counterexamples\n", p.Elapsed.Seconds(), p.Done, p.Items, dead, p.Runs, p.Found)
}
