package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/compose/docker"
	"github.com/picklock/picklock/results"
)

func cleanCommand() *cobra.Command {
	var asJSON bool
	var s leftThere
	c := &cobra.Command{
		Use: "clean", Short: "Remove what killed runs left behind", Args: noArguments,
		Long: `Remove the containers, networks, volumes and images that dead runs left on the
Docker engine, and empty data directories below ./picklock-results. Whatever
does not carry picklock's label, or belongs to a run that is still alive, stays.
Of a run with --runtime local the kernel leaves nothing else.

With --endpoint, or a --cluster of servers that run already, remove nothing of that, but what
killed runs left on these servers (docs/endpoint.md): everything with the mark of a run,
which the run has said, or with anything that looks like one. Of a run that is still under
way that takes the lock away.`,
		Example: `  picklock clean
  picklock clean --endpoint 127.0.0.1:6379 --lock redis --mark picklock-abcdefghij-
  picklock clean --endpoint etcd.example.com:2379 --i-own-this-service --lock etcd --all-marks
  picklock clean --endpoint 127.0.0.1:6379 --clean-as redis --mark picklock-abcdefghij-`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var removed []string
			var err error
			if s.asked() {
				removed, err = s.clean(cmd.Context())
			} else {
				removed, err = clean(cmd.Context())
			}
			if asJSON {
				if removed == nil {
					removed = []string{}
				}
				err = errors.Join(err, printJSON(removed))
			} else {
				for _, r := range removed {
					fmt.Println("removed", r)
				}
			}
			return err
		},
	}
	s.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func clean(ctx context.Context) ([]string, error) {
	removed, err := cleanDirectories(results.Root)
	e, derr := docker.Connect(ctx)
	if derr != nil {
		fmt.Fprintln(os.Stderr, "picklock: only directories were looked at:", derr)
		return removed, err
	}
	more, kept, cerr := e.Clean(ctx)
	for _, k := range kept {
		fmt.Fprintln(os.Stderr, "picklock: kept:", k)
	}
	return append(removed, more...), errors.Join(err, cerr, e.Close())
}

// cleanDirectories removes the empty data directories of runs that were killed.
func cleanDirectories(root string) ([]string, error) {
	var found []string
	for _, pattern := range []string{"*/data", "*/*/data"} { // a demonstration's runs lie one deeper
		dirs, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		found = append(found, dirs...)
	}
	var removed []string
	for _, dir := range found {
		info, err := os.Lstat(dir)
		// A young one's run may be about to mount its file system there.
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute || mounted(dir) {
			continue
		}
		if os.Remove(dir) == nil { // it fails for one that is not empty
			removed = append(removed, "directory "+dir)
		}
	}
	return removed, nil
}

// mounted says whether some process has a file system mounted there: a run that is
// alive does, in a mount namespace of its own, and removing the directory here would
// take it away.
func mounted(dir string) bool {
	path, err := filepath.Abs(dir)
	if err != nil {
		return true
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return true
	}
	tables, _ := filepath.Glob("/proc/[0-9]*/mountinfo") // the pattern is well-formed
	for _, t := range tables {
		text, err := os.ReadFile(t)
		if err == nil && bytes.Contains(text, []byte(" "+path+" ")) {
			return true
		}
	}
	return false
}
