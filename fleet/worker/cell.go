package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/picklock/picklock/checker"
	"github.com/picklock/picklock/fleet"
	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/results"
	"github.com/picklock/picklock/scenarios"
)

// largestReport bounds the reports that a worker sends.
const largestReport = 16 << 20

// cell runs one cell once, as a matrix does.
func (w *worker) cell(ctx context.Context, j *job, i fleet.Item, x *harness.RemoteExecutor, r *fleet.Result) (_ *fleet.Payload, err error) {
	c := j.job.Cells[i.First]
	dir, err := os.MkdirTemp(w.o.Dir, "cell-")
	if err != nil {
		return nil, fmt.Errorf("make the folder of a cell: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := scenarioOf(c, dir)
	if err != nil {
		return nil, err
	}
	o := harness.MatrixOptions{Cluster: j.job.Cluster, Extra: j.job.Options, Abilities: j.job.Abilities, Runs: 1, Out: dir, Runtime: j.job.Runtime, Table: w.o.Table}
	one, _, err := o.Cell(ctx, x, scenarios.Cell{Scenario: s, Lock: c.Lock, Fencing: c.Fencing})
	if err != nil {
		return nil, err
	}
	r.Runs = 1
	p := &fleet.Payload{Cell: &one}
	if s := one.State(); s == results.Violated || s == results.Unexpected {
		r.Found = 1 // as fleet.JobReport.SetMatrix counts: an expected failure is no finding
	}
	if len(one.Broken) > 0 || one.Met == checker.False {
		if p.Report, err = report(filepath.Join(dir, filepath.FromSlash(one.Dir))); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// scenarioOf is the scenario of a cell: that of the catalogue if it is the same.
func scenarioOf(c fleet.Cell, dir string) (*scenarios.Scenario, error) {
	if s, err := scenarios.Lookup(c.Scenario); err == nil && string(s.Text) == c.Text {
		return s, nil
	}
	return scenarios.ParseOwn(filepath.Join(dir, c.Scenario+".yaml"), []byte(c.Text))
}

// report is the page of a run; nil if there is none, or if it is too large.
func report(dir string) ([]byte, error) {
	file := filepath.Join(dir, results.ReportFile)
	if at, err := os.Stat(file); err != nil || at.Size() > largestReport {
		return nil, nil //nolint:nilerr // a cell that was left out has no report
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read a cell's report: %w", err)
	}
	return b, nil
}
