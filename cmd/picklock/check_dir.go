package main

import (
	"errors"

	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/results"
)

func checkDir(path string, on failOn, asJSON bool) error {
	l, err := open(path)
	if err != nil {
		return err
	}
	v, err := harness.Judge(l.Dir, l.Run)
	if err != nil {
		return err
	}
	return report(l.Dir.Report(), l.Run, v, on, asJSON)
}

// open reads a run directory that was named on the command line.
func open(path string) (*results.Loaded, error) {
	l, err := results.Open(path)
	if errors.Is(err, results.ErrNoRun) {
		return nil, usage(err)
	}
	return l, err
}
