package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picklock/picklock/history"
	"github.com/picklock/picklock/internal/suggest"
	"github.com/picklock/picklock/results"
)

// named says of a file whether it is CSV or a trace, and how its columns or attributes are
// named.
func (flags checkFlags) named(src history.Source) (history.Source, error) {
	head, err := src.Head()
	if err != nil {
		return src, err
	}
	src.Spans = history.IsSpans(head)
	src.CSV = !src.Spans && (len(flags.columns) > 0 || strings.EqualFold(filepath.Ext(strings.TrimSuffix(src.String(), ".gz")), ".csv"))
	src.Note = func(what string) { fmt.Fprintln(os.Stderr, "picklock:", printable(what)) }
	members, what := history.Members(), "member of an event"
	if src.Spans {
		members, what = history.SpanMembers(), "member or operation of a span"
	}
	for _, text := range flags.columns {
		member, column, ok := strings.Cut(text, "=")
		if !ok || column == "" {
			return src, usage(fmt.Errorf("check: --map %s: want MEMBER=COLUMN, as time=ts, or MEMBER=ATTRIBUTE, as key=lock.name", text))
		}
		if !slices.Contains(members, member) {
			return src, usage(fmt.Errorf("check: %w", suggest.Unknown(what, member, members)))
		}
		if src.Columns == nil {
			src.Columns = map[string]string{}
		}
		src.Columns[member] = column
	}
	return src, nil
}

// unreadable is the error of a file that cannot be read, or is no history. Only a disk or a
// signal that ends the reading is no fault of what the command line names.
func unreadable(err error) error {
	var disk *fs.PathError
	var named *exitError
	switch {
	case err == nil || errors.As(err, &named):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
	case errors.As(err, &disk), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return usage(err)
}

// isRun says whether a directory is one of our own runs'.
func isRun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, results.RunFile))
	return err == nil
}

// keep copies what can be read only once into a file that the caller removes: a history
// that is not in order is read twice. It is kept as it comes, compressed or not.
func keep(ctx context.Context, r io.Reader, name string) (history.Source, error) {
	f, err := os.CreateTemp("", "picklock-check-*")
	if err != nil {
		return history.Source{}, fmt.Errorf("check: keep %s: %w", name, err)
	}
	done := make(chan error, 1)
	go func() { // where r never ends, this ends with the process
		_, err := io.Copy(f, r)
		done <- errors.Join(err, f.Close())
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		os.Remove(f.Name())
		return history.Source{}, fmt.Errorf("check: read %s: %w", name, err)
	}
	return history.Source{Path: f.Name(), Name: name}, nil
}

// stdinName stands for standard input in what is printed.
const stdinName = "stdin"
