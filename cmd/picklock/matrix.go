package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/clients"
	"github.com/picklock/picklock/clients/register"
	"github.com/picklock/picklock/compose"
	"github.com/picklock/picklock/compose/docker"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/internal/shard"
	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// matrixFlags are the matrix's settings as the user gave them.
type matrixFlags struct {
	harness.MatrixOptions
	names, files        []string
	options, abilities  []string
	expect, writeExpect string
	shard               string
	asJSON              bool
	pace                time.Duration
}

func matrixCommand() *cobra.Command {
	f := matrixFlags{MatrixOptions: harness.MatrixOptions{Table: lockTable}}
	c := &cobra.Command{
		Use: "matrix", Short: "Play the whole catalogue and compare with what is expected", Args: noArguments,
		Long: `Play scenarios on locks with fencing disciplines, each cell in a process of its own,
and write matrix.html, matrix.svg, matrix.md, matrix.json and junit.xml. Cells that are finished
in the folder given with --out are kept, so that the same command goes on after an
interruption.

Exit codes: 0 everything as expected, 1 a difference in either direction, 2 a cell
proved too little, 254 unusable arguments, 255 picklock itself failed.`,
		Example: `  picklock matrix
  picklock matrix --locks redis,etcd --scenarios pause-holder,delayed-write --out m
  picklock matrix --locks redis --write-expect picklock.yaml
  picklock matrix --locks redis --expect picklock.yaml
  picklock matrix --shard 1/3 --out shard-1    # then: picklock merge shard-*`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context()) },
	}
	fl := c.Flags()
	fl.StringSliceVar(&f.Locks, "locks", nil, "locks, separated by commas (default: those that each scenario names)")
	lockOptionFlag(fl, &f.options)
	abilityFlag(fl, &f.abilities)
	fl.StringSliceVar(&f.names, "scenarios", nil, "scenarios, separated by commas (default: the whole catalogue)")
	fl.StringSliceVar(&f.files, "file", nil, "scenario files of your own, instead of the catalogue unless --scenarios names some of it")
	fl.StringSliceVar(&f.Fencing, "fencing", nil, "disciplines, separated by commas: "+listed(fencingValues())+" (default: those that each scenario names)")
	fl.StringVar(&f.Cluster, "cluster", "", "cluster to run on: a name or a Compose file (default: the scenario's, or the lock's own)")
	endpointFlagsTold(c, &f.Cluster)
	fl.IntVar(&f.Runs, "count", 1, "how often each cell is played")
	fl.IntVarP(&f.Jobs, "jobs", "j", 0, "cells at a time (default: twice as many as there are CPUs; with --runtime docker as many as the engine's machine has)")
	fl.StringVar(&f.Out, "out", "", "folder of the results (default: a new one below ./picklock-results)")
	fl.StringVar(&f.Runtime, "runtime", "local", "where the nodes run: local, docker")
	fl.StringVar(&f.ClientImage, "client-image", "", "with --runtime docker: an image that the clients run in, for an exec lock's program")
	fl.DurationVar(&f.pace, "pace", 0, "measure also how fast each lock is, in runs of this length (for example 5s)")
	fl.StringVar(&f.expect, "expect", "", "compare with this file instead of the scenarios' own expectations")
	fl.StringVar(&f.writeExpect, "write-expect", "", "write what came of it to this file, for --expect")
	fl.StringVar(&f.shard, "shard", "", shardHelp)
	fl.BoolVar(&f.asJSON, "json", false, "print the matrix as JSON")
	return c
}

func (f *matrixFlags) run(ctx context.Context) error {
	if err := f.resolve(ctx); err != nil {
		return usage(err)
	}
	if err := f.reach(ctx); err != nil {
		return err
	}
	var want *results.Expectations
	var err error
	if f.expect != "" {
		if want, err = results.ReadExpectations(f.expect); err != nil {
			return usage(err)
		}
	}
	if f.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find the own program: %w", err)
	}
	if err := f.Describe(ctx); err != nil {
		return err
	}
	f.Done = func(c results.Cell, n, of int, kept bool) {
		note := fmt.Sprintf("%.1f s", c.Seconds)
		if kept {
			note = "kept"
		}
		fmt.Fprintf(os.Stderr, "picklock: %3d/%d %-18s %s %s %s (%s)\n", n, of, c.State(), c.Scenario, c.Lock, c.Fencing, note)
	}
	m, err := harness.Matrix(ctx, f.MatrixOptions)
	if err == nil && f.pace > 0 {
		m.Paces, err = harness.Paces(ctx, f.MatrixOptions, f.pace, func(p results.Pace, what string) {
			fmt.Fprintf(os.Stderr, "picklock: pace of %s, %s\n", p.Lock, what)
		})
	}
	if errors.Is(err, harness.ErrUsage) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	if want != nil {
		want.Apply(m)
	}
	if f.writeExpect != "" {
		if err := results.WriteExpectations(f.writeExpect, m); err != nil {
			return err
		}
	}
	return f.report(m)
}

// reach finds out once what would otherwise fail in every cell, and how many cells
// at a time are sensible.
func (f *matrixFlags) reach(ctx context.Context) error {
	jobs := 2 * runtime.NumCPU() // a cell mostly waits: for leases, elections, timeouts
	if f.Runtime == "docker" {
		e, err := docker.Connect(ctx)
		if err != nil {
			return err
		}
		_, err = e.Compose(ctx)
		jobs = e.CPUs() // containers take more to come and go
		if err := errors.Join(err, e.Close()); err != nil {
			return err
		}
	}
	if f.Jobs == 0 {
		f.Jobs = max(1, jobs)
	}
	return nil
}

func (f *matrixFlags) report(m *results.Matrix) error {
	if err := writeMatrix(f.Out, m, f.asJSON); err != nil {
		return err
	}
	if f.writeExpect != "" {
		return nil // what came of it is what is expected from now on
	}
	return met(m.Validity())
}

// writeMatrix writes and prints a matrix.
func writeMatrix(out string, m *results.Matrix, asJSON bool) error {
	if err := results.WriteMatrix(out, m); err != nil {
		return err
	}
	if err := results.GitHub(m, os.Getenv, os.Stdout, asJSON); err != nil {
		return err
	}
	var err error
	if asJSON {
		err = printJSON(m)
	} else {
		err = results.MatrixSummary(os.Stdout, m, filepath.Join(out, results.MatrixPage), colourful(os.Stdout))
	}
	if err != nil {
		return fmt.Errorf("print the matrix: %w", err)
	}
	return nil
}

// resolve looks all names up.
func (f *matrixFlags) resolve(ctx context.Context) error {
	for i, lock := range f.Locks {
		info, err := lockTable.Lookup(lock)
		if err != nil {
			return err
		}
		f.Locks[i] = info.Name // the scenarios know no aliases
	}
	for _, d := range f.Fencing {
		if _, err := register.ParseDiscipline(d); err != nil {
			return err
		}
	}
	for _, file := range f.files {
		s, err := scenarios.Load(file)
		if err != nil {
			return err
		}
		if s.File, err = filepath.Abs(file); err != nil {
			return err
		}
		f.Scenarios = append(f.Scenarios, s)
	}
	switch {
	case len(f.names) > 0:
		for _, name := range f.names {
			s, err := scenarios.Lookup(name)
			if err != nil {
				return err
			}
			f.Scenarios = append(f.Scenarios, s)
		}
	case len(f.files) == 0:
		all, err := scenarios.All()
		if err != nil {
			return err
		}
		f.Scenarios = all
	}
	var seen []string
	for _, s := range f.Scenarios {
		if slices.Contains(seen, s.Name) {
			return fmt.Errorf("scenario %s twice: give each a name of its own", s.Name)
		}
		seen = append(seen, s.Name)
	}
	var err error
	if f.Shard, err = shard.Parse(f.shard, os.Getenv); err != nil {
		return fmt.Errorf("--%w", err)
	}
	switch {
	case !f.Shard.Whole() && (f.expect != "" || f.writeExpect != ""):
		return errors.New("--expect and --write-expect are of the whole matrix: give them to picklock merge")
	case !f.Shard.Whole() && f.pace != 0:
		return errors.New("--pace is measured with the machine to itself: leave it out with --shard")
	case f.Runs < 1:
		return fmt.Errorf("--count %d: want at least 1", f.Runs)
	case f.Jobs < 0:
		return fmt.Errorf("--jobs %d: want at least 1", f.Jobs)
	case f.Runtime != "local" && f.Runtime != "docker":
		return suggest.Unknown("runtime", f.Runtime, runtimes)
	case f.pace != 0 && f.pace < time.Second:
		return fmt.Errorf("--pace %v: want at least 1s", f.pace)
	case f.ClientImage != "" && f.Runtime != "docker":
		return errors.New("--client-image needs --runtime docker")
	}
	if f.Out == "" {
		f.Out = filepath.Join(results.Root, time.Now().Format("20060102-150405")+"-matrix")
	}
	if strings.HasPrefix(f.Out, "-") {
		return fmt.Errorf("--out %s: want a folder", f.Out)
	}
	if fi, err := os.Stat(f.Out); err == nil && !fi.IsDir() {
		return fmt.Errorf("--out %s is a file: want a folder", f.Out)
	}
	if f.writeExpect != "" { // before hours of playing
		if fi, err := os.Stat(filepath.Dir(f.writeExpect)); err != nil || !fi.IsDir() {
			return fmt.Errorf("--write-expect %s: its folder is not there", f.writeExpect)
		}
	}
	if f.Cluster != "" && f.Cluster != "none" {
		if _, err := compose.Load(ctx, f.Cluster); err != nil {
			return fmt.Errorf("--cluster: %w", err)
		}
	}
	if f.Extra, err = clients.ParseOptions(f.options); err != nil {
		return err
	}
	if f.Abilities, err = clients.ParseAbilities(f.abilities); err != nil {
		return err
	}
	cells, err := f.Cells()
	for _, c := range cells {
		if info, lerr := lockTable.Lookup(c.Lock); err == nil && lerr == nil {
			err = errors.Join(info.CheckOptions(f.Extra), info.CheckAbilities(f.Abilities))
		}
	}
	return err
}
