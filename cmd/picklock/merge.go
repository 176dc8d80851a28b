package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/harness"
	"github.com/picklock/picklock/hunt"
	huntreport "github.com/picklock/picklock/hunt/report"
	"github.com/picklock/picklock/internal/shard"
	"github.com/picklock/picklock/results"
)

const shardHelp = "run one of N equal parts, as 2/3; auto or auto/N: the part that the build server assigns (merge them with picklock merge)"

// mergeFlags name the files of the merged result.
type mergeFlags struct {
	out, expect, writeExpect string
	asJSON                   bool
}

func mergeCommand() *cobra.Command {
	var f mergeFlags
	c := &cobra.Command{
		Use: "merge DIR...", Short: "Merge the shards of a matrix or of a hunt",
		Long: `Merge the folders that picklock scenario run --shard or picklock hunt --shard wrote: the result is
one report, one JUnit file and one exit code, as if one machine had run everything. If a shard
is missing, the command fails.

Exit codes: those of picklock scenario run and of picklock hunt.`,
		Example: `  picklock scenario run --all --lock redis --shard 1/2 --out shard-1
  picklock scenario run --all --lock redis --shard 2/2 --out shard-2
  picklock merge shard-1 shard-2 --out whole`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return wrongArguments(cmd, "the folders of the shards", args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(args) },
	}
	fl := c.Flags()
	fl.StringVar(&f.out, "out", "", "write the results to this folder (default: a new one below ./picklock-results)")
	fl.StringVar(&f.expect, "expect", "", "of a matrix: compare with this file instead of the scenarios' own expectations")
	fl.StringVar(&f.writeExpect, "write-expect", "", "of a matrix: write the results to this file, for --expect")
	fl.BoolVar(&f.asJSON, "json", false, "print the result as JSON")
	return c
}

func (f *mergeFlags) run(folders []string) error {
	hunts := 0
	for _, d := range folders {
		switch _, err := os.Stat(filepath.Join(d, huntreport.PortionFile)); {
		case err == nil:
			hunts++
		case !errors.Is(err, fs.ErrNotExist):
			return usage(fmt.Errorf("read a shard: %w", err))
		default:
			if _, err := os.Stat(filepath.Join(d, results.MatrixJSON)); err != nil {
				return usage(fmt.Errorf("%s is not the folder of a shard: it has neither %s nor %s", d, results.MatrixJSON, huntreport.PortionFile))
			}
		}
	}
	switch {
	case hunts == 0:
		return f.matrix(folders)
	case hunts < len(folders):
		return usage(errors.New("some folders are of a hunt and some of a matrix: merge each kind separately"))
	case f.expect != "" || f.writeExpect != "":
		return usage(errors.New("--expect and --write-expect are for a matrix; these folders are of a hunt"))
	}
	return f.hunt(folders)
}

func (f *mergeFlags) matrix(folders []string) error {
	var all []*results.Matrix
	for _, d := range folders {
		m, err := results.ReadMatrix(filepath.Join(d, results.MatrixJSON))
		if err != nil {
			return usage(err)
		}
		all = append(all, m)
	}
	m, err := results.MergeMatrices(all)
	if err != nil {
		return usage(fmt.Errorf("merge: %w", err))
	}
	if f.expect != "" {
		want, err := results.ReadExpectations(f.expect)
		if err != nil {
			return usage(err)
		}
		want.Apply(m)
	}
	if f.out == "" {
		f.out = filepath.Join(results.Root, time.Now().Format("20060102-150405")+"-matrix")
	}
	for _, d := range folders {
		if err := copyCells(f.out, d); err != nil {
			return usage(err)
		}
	}
	if f.writeExpect != "" {
		if err := results.WriteExpectations(f.writeExpect, m); err != nil {
			return err
		}
	}
	if err := writeMatrix(f.out, m, f.asJSON); err != nil {
		return err
	}
	if f.writeExpect != "" {
		return nil
	}
	return met(m.Validity())
}

// copyCells copies a shard's reports, which the page links to.
func copyCells(out, from string) error {
	cells := filepath.Join(from, harness.CellsFolder)
	if _, err := os.Stat(cells); errors.Is(err, fs.ErrNotExist) {
		return nil // the shard has no reports
	}
	if err := os.CopyFS(filepath.Join(out, harness.CellsFolder), os.DirFS(cells)); err != nil {
		return fmt.Errorf("copy the reports of %s: %w (name an empty folder with --out)", from, err)
	}
	return nil
}

func (f *mergeFlags) hunt(folders []string) error {
	var shards []shard.Shard
	var portions []hunt.Portion
	for _, d := range folders {
		p, err := huntreport.ReadPortion(d)
		if err != nil {
			return usage(err)
		}
		shards, portions = append(shards, p.Shard), append(portions, p.Portion)
	}
	if err := shard.Complete(shards); err != nil {
		return usage(fmt.Errorf("merge: %w", err))
	}
	result, err := hunt.Merge(portions)
	if err != nil {
		return usage(fmt.Errorf("merge: %w", err))
	}
	dir, err := huntreport.Open(f.out, "", result.Lock)
	if err != nil {
		return usage(err)
	}
	defer dir.Close()
	return writeHunt(dir, result, f.asJSON)
}
