package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/results"
)

// runSeveral makes one run with several seeds and prints how often it failed.
func runSeveral(ctx context.Context, o harness.Options, runs int, runtime, clientImage string, on failOn, asJSON bool) error {
	r := harness.RunsOptions{Options: o, Runs: runs, OnBug: on == onBug}
	if runtime != "local" {
		r.Flags = append(r.Flags, "--runtime", runtime)
	}
	if clientImage != "" {
		r.Flags = append(r.Flags, "--client-image", clientImage)
	}
	var err error
	if r.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find the own program: %w", err)
	}
	r.Interrupt = ctx.Done()
	r.Done = func(one results.OneRun, n int) {
		w := os.Stdout
		if asJSON {
			w = os.Stderr
		}
		fmt.Fprintf(w, "%3d/%d %s\n", n, runs, one.Line(colourful(w)))
	}
	all, err := harness.Runs(untilAbandoned(ctx), r)
	if errors.Is(err, harness.ErrUsage) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	if asJSON {
		err = printJSON(all)
	} else {
		err = results.RunsSummary(os.Stdout, all, colourful(os.Stdout))
	}
	if err != nil {
		return fmt.Errorf("print the rate: %w", err)
	}
	return met(all.Validity())
}
