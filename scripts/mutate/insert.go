package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// The environment's names for the mutation in force, and for the file that is to
// be told which comparisons were come by.
const (
	inForce = "PICKLOCK_MUTATION"
	reached = "PICKLOCK_REACHED"
)

// helper is added to each package: a comparison c becomes mutated(17, c), which is
// c unless mutation 17 is in force; Compare's answer changes its sign, and min and
// max change their places.
const helper = `
import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

var mutation = func() int {
	n, err := strconv.Atoi(os.Getenv("` + inForce + `"))
	if err != nil {
		return -1
	}
	return n
}()

var (
	reachedFile, _ = os.OpenFile(os.Getenv("` + reached + `"), os.O_APPEND|os.O_WRONLY, 0)
	reachedYet     [%d]atomic.Bool
)

func mutated(n int, b bool) bool {
	if reachedFile != nil && !reachedYet[n].Swap(true) {
		fmt.Fprintln(reachedFile, n)
	}
	return b != (n == mutation)
}

func mutatedOrder(n, order int) int {
	if mutated(n, false) {
		return -order
	}
	return order
}

func mutatedMin[T cmp.Ordered](n int, first T, more ...T) T {
	return mutatedPick(mutated(n, true), first, more)
}

func mutatedMax[T cmp.Ordered](n int, first T, more ...T) T {
	return mutatedPick(mutated(n, false), first, more)
}

func mutatedPick[T cmp.Ordered](least bool, first T, more []T) T {
	for _, v := range more {
		if (v < first) == least {
			first = v
		}
	}
	return first
}
`

// insert puts all mutations into the copy.
func insert(dir string, all []mutation) error {
	edits := map[string][]edit{}
	for i, m := range all {
		for _, e := range m.edits {
			if !e.closing {
				e.text = fmt.Sprintf(e.text, i)
			}
			edits[m.file] = append(edits[m.file], e)
		}
	}
	for file, list := range edits {
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		slices.SortStableFunc(list, func(a, b edit) int {
			switch {
			case a.from != b.from:
				return a.from - b.from
			case a.closing == b.closing:
				return 0
			case a.closing:
				return -1
			}
			return 1
		})
		var out bytes.Buffer
		at := 0
		for _, e := range list {
			out.Write(text[at:e.from])
			out.WriteString(e.text)
			at = e.to
		}
		out.Write(text[at:])
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	for _, pkg := range packages {
		text := fmt.Sprintf("package %s\n"+helper, filepath.Base(pkg), len(all))
		if err := os.WriteFile(filepath.Join(dir, pkg, "mutated.go"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// copyModule copies what the checker needs. Nothing is ever changed in place.
func copyModule(root string) (string, error) {
	dir, err := os.MkdirTemp("", "picklock-mutate-")
	if err != nil {
		return "", err
	}
	for _, part := range []string{"go.mod", "go.sum", "checker", "history", "internal", "docs"} {
		err := filepath.WalkDir(filepath.Join(root, part), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			to := filepath.Join(dir, rel)
			if e.IsDir() {
				return os.MkdirAll(to, 0o755)
			}
			text, err := os.ReadFile(path) //nolint:gosec // our own working tree
			if err != nil {
				return err
			}
			return os.WriteFile(to, text, 0o644)
		})
		if err != nil {
			return "", errors.Join(fmt.Errorf("copy the module: %w", err), os.RemoveAll(dir))
		}
	}
	return dir, nil
}
