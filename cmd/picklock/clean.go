package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/picklock/picklock/compose/docker"
	"github.com/picklock/picklock/internal/scratch"
	"github.com/picklock/picklock/results"
)

func cleanCommand() *cobra.Command {
	var asJSON, yes, dry bool
	var s leftThere
	c := &cobra.Command{
		Use: "clean", Short: "Remove what killed runs left behind", Args: noArguments,
		Long: `Remove the containers, networks, volumes and images that dead runs left on the
Docker engine, empty data directories below ./picklock-results, and picklock's
folders among the machine's temporary files. Whatever does not carry picklock's
label, or belongs to a run that is still alive, stays. Of a run with --runtime
local the kernel leaves nothing else.

It lists what there is, and asks. --yes removes it unasked, --dry-run only lists it. Where
nobody can be asked, since no terminal is there, it is listed and stays: exit code 254.

With --endpoint, or a --cluster of servers that run already, remove nothing of that, but what
killed runs left on these servers (docs/guides/endpoint.md): everything with the mark of a run,
which the run has said, or with anything that looks like one. Of a run that is still under
way that takes the lock away. Nothing is asked: the mark says what is meant.`,
		Example: `  picklock clean
  picklock clean --dry-run
  picklock clean --yes
  picklock clean --endpoint 127.0.0.1:6379 --lock redis --mark picklock-abcdefghij-
  picklock clean --endpoint etcd.example.com:2379 --i-own-this-service --lock etcd --all-marks
  picklock clean --endpoint 127.0.0.1:6379 --clean-as redis --mark picklock-abcdefghij-`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if yes && dry {
				return usage(errors.New("--yes removes, --dry-run does not: give one of them"))
			}
			var removed []string
			var err error
			verb := "removed"
			switch {
			case s.asked() && dry:
				return usage(errors.New("--dry-run is for what is left on this machine: on servers the --mark says what is removed"))
			case s.asked():
				removed, err = s.clean(cmd.Context())
			default:
				var l *leftHere
				if l, err = findLeft(cmd.Context()); err != nil {
					break
				}
				switch {
				case dry:
					verb, removed = "would remove", l.names()
				case yes || len(l.names()) == 0:
					removed, err = l.remove(cmd.Context())
				default:
					var agreed bool
					if agreed, err = l.agreed(os.Stdin, os.Stderr); agreed {
						removed, err = l.remove(cmd.Context())
					}
				}
				err = errors.Join(err, l.close())
			}
			if asJSON {
				if removed == nil {
					removed = []string{}
				}
				err = errors.Join(err, printJSON(removed))
			} else {
				for _, r := range removed {
					fmt.Println(verb, r)
				}
			}
			return err
		},
	}
	s.flags(c)
	c.Flags().BoolVarP(&yes, "yes", "y", false, "remove without asking")
	c.Flags().BoolVar(&dry, "dry-run", false, "list what would be removed, and remove nothing")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: what was removed, or with --dry-run would be")
	return c
}

// leftHere is what dead runs left on this machine, and on the engine that it uses.
type leftHere struct {
	dirs    []string // of data, which are empty
	scratch []string
	engine  *docker.Engine // nil where none answers
	on      docker.Left
}

// findLeft looks for it. The caller closes what it returns.
func findLeft(ctx context.Context) (*leftHere, error) {
	dirs, err := emptyDirectories(results.Root)
	if err != nil {
		return nil, err
	}
	folders, err := scratch.Left()
	if err != nil {
		return nil, err
	}
	l := &leftHere{dirs: dirs, scratch: folders}
	if l.engine, err = docker.Connect(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "picklock: only directories were looked at:", err)
		return l, nil
	}
	if l.on, err = l.engine.Left(ctx); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *leftHere) names() []string {
	var out []string
	for _, d := range slices.Concat(l.dirs, l.scratch) {
		out = append(out, "directory "+d)
	}
	return append(out, l.on.Names()...)
}

// agreed shows what there is and asks on a terminal whether to remove it. Where there is none,
// the error says what to add.
func (l *leftHere) agreed(in *os.File, out io.Writer) (bool, error) {
	names := l.names()
	for _, name := range names {
		fmt.Fprintln(out, "would remove", name)
	}
	if !isTerminal(in) {
		return false, usage(errors.New("nothing was removed, for nobody can be asked here: add --yes to remove all of this, --dry-run to list it"))
	}
	fmt.Fprintf(out, "Remove all %d? Images stay that are in use. [y/N] ", len(names))
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return true, nil
	}
	fmt.Fprintln(out, "Nothing was removed.")
	return false, nil
}

// remove returns what it has removed.
func (l *leftHere) remove(ctx context.Context) (removed []string, err error) {
	for _, dir := range l.dirs {
		if os.Remove(dir) == nil { // it fails for one that is not empty any more
			removed = append(removed, "directory "+dir)
		}
	}
	for _, dir := range l.scratch {
		if err := scratch.RemoveLeft(dir); err != nil {
			fmt.Fprintln(os.Stderr, "picklock: kept:", err)
			continue
		}
		removed = append(removed, "directory "+dir)
	}
	if l.engine == nil {
		return removed, nil
	}
	more, kept, err := l.engine.Clean(ctx, l.on)
	for _, k := range kept {
		fmt.Fprintln(os.Stderr, "picklock: kept:", k)
	}
	return append(removed, more...), err
}

func (l *leftHere) close() error {
	if l.engine == nil {
		return nil
	}
	return l.engine.Close()
}

// emptyDirectories are the empty data directories of runs that were killed.
func emptyDirectories(root string) ([]string, error) {
	var found []string
	for _, pattern := range []string{"*/data", "*/*/data"} { // a demonstration's runs lie one deeper
		dirs, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		found = append(found, dirs...)
	}
	var empty []string
	for _, dir := range found {
		info, err := os.Lstat(dir)
		// A young one's run may be about to mount its file system there.
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute || mounted(dir) {
			continue
		}
		if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
			empty = append(empty, dir)
		}
	}
	return empty, nil
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
