package main

import (
	"errors"

	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/results"
)

// checkDir judges a run directory and rewrites what was said of it. One that was made by hand names no command: it is judged
// again, and not made again.
func checkDir(path string, flags checkFlags) error {
	l, err := open(path)
	if err != nil {
		return err
	}
	if len(l.Run.Command) == 0 {
		l.Run.Command = flags.again(path)
	}
	v, err := harness.Judge(l.Dir, l.Run)
	if err != nil {
		return err
	}
	return report(l.Dir.Report(), l.Run, v, flags.on, flags.json)
}

// open reads a run directory that was named on the command line.
func open(path string) (*results.Loaded, error) {
	l, err := results.Open(path)
	if errors.Is(err, results.ErrNoRun) {
		return nil, usage(err)
	}
	return l, err
}
