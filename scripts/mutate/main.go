// Command mutate asks whether the checker's tests would notice: it inverts every
// comparison of the checker, one at a time, in a copy of the module, and runs the
// tests of the package. What no test notices is printed, unless equivalent.txt says
// why it makes no difference.
//
//	mutate [-part I/N] [-list] [PACKAGE/FILE.go ...]
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// inverse of each comparison.
var inverse = map[token.Token]token.Token{
	token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
}

// packages are looked through, each by its own tests.
var packages = []string{"checker", "checker/model"}

// testTime is how long the tests of one mutation may take; one that makes them
// hang is noticed, too.
const testTime = 90 * time.Second

// mutation is one inverted comparison.
type mutation struct {
	pkg, file string
	line      int
	from, to  int // of the operator
	old, new  string
	name      string // "checker/lease.go findAlive: r.until <= last.to", stable when lines move
}

func main() {
	list := flag.Bool("list", false, "only list the mutations")
	part := flag.String("part", "1/1", "try only the I-th of N parts")
	root := flag.String("root", ".", "the module")
	flag.Parse()
	if err := run(*root, *list, *part, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(root string, list bool, part string, only []string) error {
	all, err := mutations(root, only)
	if err != nil {
		return err
	}
	var i, n int
	if _, err := fmt.Sscanf(part, "%d/%d", &i, &n); err != nil || i < 1 || i > n {
		return fmt.Errorf("-part %s: want I/N", part)
	}
	all = all[(i-1)*len(all)/n : i*len(all)/n]
	if list {
		for _, m := range all {
			fmt.Println(m.name)
		}
		return nil
	}
	known, err := equivalents(filepath.Join(root, "scripts/mutate/equivalent.txt"))
	if err != nil {
		return err
	}
	workers := max(1, runtime.NumCPU())
	work := make(chan mutation)
	var mu sync.Mutex
	var survivors []string
	var wg sync.WaitGroup
	errs := make(chan error, workers)
	for range workers {
		wg.Go(func() {
			dir, err := copyModule(root)
			if err != nil {
				errs <- err
				for range work { // let the sender end
				}
				return
			}
			defer os.RemoveAll(dir)
			for m := range work {
				noticed, err := try(dir, m)
				mu.Lock()
				switch {
				case err != nil:
					errs <- err
				case !noticed && known[m.name] == "":
					survivors = append(survivors, fmt.Sprintf("%s:%d: %s (%s)", m.file, m.line, m.name, m.new))
					fmt.Println("survives:", survivors[len(survivors)-1])
				case noticed && known[m.name] != "":
					fmt.Println("noticed after all, take it off the list:", m.name)
				}
				mu.Unlock()
				if err != nil {
					for range work {
					}
					return
				}
			}
		})
	}
	for _, m := range all {
		work <- m
	}
	close(work)
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	fmt.Printf("%d mutations, %d survive, %d are explained in equivalent.txt\n", len(all), len(survivors), len(known))
	if len(survivors) > 0 {
		return errors.New("no test notices the mutations above")
	}
	return nil
}

// mutations lists every comparison, outside of tests.
func mutations(root string, only []string) ([]mutation, error) {
	var out []mutation
	for _, pkg := range packages {
		files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			file := pkg + "/" + filepath.Base(path)
			if strings.HasSuffix(file, "_test.go") || (len(only) > 0 && !slices.Contains(only, file)) {
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			set := token.NewFileSet()
			tree, err := parser.ParseFile(set, path, text, 0)
			if err != nil {
				return nil, err
			}
			seen := map[string]int{}
			for _, d := range tree.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				ast.Inspect(f, func(n ast.Node) bool {
					b, ok := n.(*ast.BinaryExpr)
					if !ok || inverse[b.Op] == 0 {
						return true
					}
					at := set.Position(b.OpPos)
					code := string(text[set.Position(b.Pos()).Offset:set.Position(b.End()).Offset])
					m := mutation{pkg: pkg, file: file, line: at.Line, from: at.Offset, to: at.Offset + len(b.Op.String()), old: b.Op.String(), new: inverse[b.Op].String()}
					m.name = fmt.Sprintf("%s %s: %s", file, f.Name.Name, strings.Join(strings.Fields(code), " "))
					if seen[m.name]++; seen[m.name] > 1 {
						m.name += fmt.Sprintf(" #%d", seen[m.name])
					}
					out = append(out, m)
					return true
				})
			}
		}
	}
	return out, nil
}

// try puts one mutation into the copy, runs the tests, and takes it out again.
func try(dir string, m mutation) (noticed bool, err error) {
	path := filepath.Join(dir, m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	changed := slices.Concat(text[:m.from], []byte(m.new), text[m.to:])
	if err := os.WriteFile(path, changed, 0o644); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.WriteFile(path, text, 0o644)) }()
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-short", "-failfast", "-vet=off", "-timeout", "60s", "./"+m.pkg)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err == nil {
		return false, nil
	}
	return true, nil
}

// copyModule copies what the checker needs. Nothing is ever changed in place.
func copyModule(root string) (string, error) {
	dir, err := os.MkdirTemp("", "picklock-mutate-")
	if err != nil {
		return "", err
	}
	for _, part := range []string{"go.mod", "go.sum", "checker", "history", "docs"} {
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
			text, err := os.ReadFile(path)
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

// equivalents reads the mutations that make no difference, and why: a line with
// the mutation's name, the reason behind " // ".
func equivalents(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]string{}
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		line := s.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		name, why, ok := strings.Cut(line, " // ")
		if !ok || why == "" {
			return nil, fmt.Errorf("%s:%d: want a mutation's name, \" // \" and why it makes no difference", path, n)
		}
		out[name] = why
	}
	return out, s.Err()
}
