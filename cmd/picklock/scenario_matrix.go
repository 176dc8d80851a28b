package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/picklock/picklock/compose/docker"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/internal/shard"
	"github.com/picklock/picklock/results"
)

// runMatrix runs each scenario on each lock with each fencing mode.
func (f *scenarioFlags) runMatrix(ctx context.Context) error {
	if err := f.resolveMatrix(); err != nil {
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
	if f.matrix.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find the own program: %w", err)
	}
	if err := f.matrix.Describe(ctx); err != nil {
		return err
	}
	f.matrix.Done = func(c results.Cell, n, of int, kept bool) {
		note := fmt.Sprintf("%.1f s", c.Seconds)
		if kept {
			note = "kept"
		}
		fmt.Fprintf(os.Stderr, "picklock: %3d/%d %-18s %s %s %s (%s)\n", n, of, c.State(), c.Scenario, c.Lock, c.Fencing, note)
	}
	m, err := harness.Matrix(ctx, f.matrix)
	if err == nil && f.pace > 0 {
		m.Paces, err = harness.Paces(ctx, f.matrix, f.pace, func(p results.Pace, what string) {
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
func (f *scenarioFlags) reach(ctx context.Context) error {
	jobs := 2 * runtime.NumCPU() // a cell mostly waits: for leases, elections, timeouts
	if f.matrix.Runtime == "docker" {
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
	if f.matrix.Jobs == 0 {
		f.matrix.Jobs = max(1, jobs)
	}
	return nil
}

func (f *scenarioFlags) report(m *results.Matrix) error {
	if err := writeMatrix(f.matrix.Out, m, f.asJSON); err != nil {
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

// resolveMatrix checks the settings of a matrix before hours of running it.
func (f *scenarioFlags) resolveMatrix() (err error) {
	m := &f.matrix
	if m.Shard, err = shard.Parse(f.shard, os.Getenv); err != nil {
		return fmt.Errorf("--%w", err)
	}
	switch {
	case !m.Shard.Whole() && (f.expect != "" || f.writeExpect != ""):
		return errors.New("--expect and --write-expect need the whole matrix: give them to picklock merge")
	case !m.Shard.Whole() && f.pace != 0:
		return errors.New("--pace measures locks while nothing else runs: leave it out with --shard")
	case m.Jobs < 0:
		return fmt.Errorf("--jobs %d: want at least 1", m.Jobs)
	case f.pace != 0 && f.pace < time.Second:
		return fmt.Errorf("--pace %v: want at least 1s", f.pace)
	}
	if m.Out == "" {
		m.Out = filepath.Join(results.Root, time.Now().Format("20060102-150405")+"-matrix")
	}
	if strings.HasPrefix(m.Out, "-") {
		return fmt.Errorf("--out %s: want a folder", m.Out)
	}
	if fi, err := os.Stat(m.Out); err == nil && !fi.IsDir() {
		return fmt.Errorf("--out %s is a file: want a folder", m.Out)
	}
	if f.writeExpect != "" {
		if fi, err := os.Stat(filepath.Dir(f.writeExpect)); err != nil || !fi.IsDir() {
			return fmt.Errorf("--write-expect %s: its folder does not exist", f.writeExpect)
		}
	}
	for _, s := range m.Scenarios {
		if !s.Own {
			continue
		}
		if s.File, err = filepath.Abs(s.File); err != nil { // the cells are processes
			return fmt.Errorf("find the file of %s: %w", s.Name, err)
		}
	}
	cells, err := m.Cells()
	for _, c := range cells {
		if info, lerr := lockTable.Lookup(c.Lock); err == nil && lerr == nil {
			err = errors.Join(info.CheckOptions(m.Extra), info.CheckAbilities(m.Abilities))
		}
	}
	return err
}
