// Command mutate asks whether the checker's tests would notice: it inverts every
// comparison of the checker, one at a time, in a copy of the module, and runs the
// tests of the package. What no test notices is printed, unless equivalent.txt says
// why it makes no difference.
//
// Each package is built once, with all mutations in it: a comparison c becomes
// mutated(17, c), which is c unless the environment asks for mutation 17.
//
//	mutate [-list] [PACKAGE/FILE.go ...]
package main

import (
	"bufio"
	"bytes"
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
)

// comparisons are what is inverted.
var comparisons = []token.Token{token.LSS, token.GEQ, token.GTR, token.LEQ, token.EQL, token.NEQ}

// packages are looked through, each by its own tests.
var packages = []string{"checker", "checker/model"}

// runFlags run the tests of one mutation: fast, and without traces of failures.
// One that makes the tests hang, or eat memory, is noticed, too.
var runFlags = []string{"-test.short", "-test.failfast", "-test.timeout=40s", "-rapid.shrinktime=0s", "-rapid.nofailfile", "-rapid.checks=4000", "-rapid.seed=1"}

// maxMemory, in KiB of address space, is what one run can have.
const maxMemory = 6 << 20

// variable is the environment's name for the mutation in force.
const variable = "PICKLOCK_MUTATION"

// helper is added to each package.
const helper = `
import (
	"os"
	"strconv"
)

var mutation = func() int {
	n, err := strconv.Atoi(os.Getenv("PICKLOCK_MUTATION"))
	if err != nil {
		return -1
	}
	return n
}()

func mutated(n int, b bool) bool { return b != (n == mutation) }
`

// mutation is one inverted comparison.
type mutation struct {
	pkg, file string
	line      int
	from, to  int    // of the comparison
	name      string // "checker/lease.go findAlive: r.until <= last.to", stable when lines move
}

func main() {
	list := flag.Bool("list", false, "only list the mutations")
	root := flag.String("root", ".", "the module")
	flag.Parse()
	if err := run(*root, *list, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(root string, list bool, only []string) error {
	all, err := mutations(root, only)
	if err != nil {
		return err
	}
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
	dir, err := copyModule(root)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := build(dir, all); err != nil {
		return err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	survivors, explained := 0, 0
	var failed error
	work := make(chan int)
	for range max(1, runtime.NumCPU()) {
		wg.Go(func() {
			for i := range work {
				m := all[i]
				noticed, out := try(dir, m, i)
				mu.Lock()
				if noticed && !bytes.Contains(out, []byte("FAIL")) && !bytes.Contains(out, []byte("panic")) && !bytes.Contains(out, []byte("fatal error")) {
					failed = fmt.Errorf("%s: the tests did not run:\n%s", m.name, out)
				}
				switch {
				case !noticed && known[m.name] == "":
					survivors++
					fmt.Printf("survives: %s:%d: %s\n", m.file, m.line, m.name)
				case !noticed:
					explained++
				case known[m.name] != "":
					fmt.Println("noticed after all, take it off the list:", m.name)
				}
				mu.Unlock()
			}
		})
	}
	for i := range all {
		work <- i
	}
	close(work)
	wg.Wait()
	fmt.Printf("%d mutations, %d survive, %d more are explained in equivalent.txt\n", len(all), survivors, explained)
	if failed != nil {
		return failed
	}
	if survivors > 0 {
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
					if !ok || !slices.Contains(comparisons, b.Op) {
						return true
					}
					m := mutation{pkg: pkg, file: file, line: set.Position(b.OpPos).Line, from: set.Position(b.Pos()).Offset, to: set.Position(b.End()).Offset}
					code := string(text[m.from:m.to])
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

// build puts all mutations into the copy and builds each package's tests.
func build(dir string, all []mutation) error {
	type insert struct {
		at    int
		first bool // of two at one place: a closing one
		text  string
	}
	inserts := map[string][]insert{}
	for i, m := range all {
		inserts[m.file] = append(inserts[m.file], insert{m.from, false, fmt.Sprintf("mutated(%d, ", i)}, insert{m.to, true, ")"})
	}
	for file, list := range inserts {
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		slices.SortStableFunc(list, func(a, b insert) int {
			switch {
			case a.at != b.at:
				return a.at - b.at
			case a.first == b.first:
				return 0
			case a.first:
				return -1
			}
			return 1
		})
		var out bytes.Buffer
		at := 0
		for _, i := range list {
			out.Write(text[at:i.at])
			out.WriteString(i.text)
			at = i.at
		}
		out.Write(text[at:])
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	for _, pkg := range packages {
		name := filepath.Base(pkg)
		if err := os.WriteFile(filepath.Join(dir, pkg, "mutated.go"), []byte("package "+name+"\n"+helper), 0o644); err != nil {
			return err
		}
		cmd := exec.Command("go", "test", "-c", "-vet=off", "-o", filepath.Join(dir, name+".test"), "./"+pkg)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
		if noticed, out := try(dir, mutation{pkg: pkg}, -1); noticed {
			return fmt.Errorf("the tests of %s fail without any mutation:\n%s", pkg, out)
		}
	}
	return nil
}

// try runs the tests with one mutation in force.
func try(dir string, m mutation, i int) (noticed bool, out []byte) {
	test := filepath.Join(dir, filepath.Base(m.pkg)+".test")
	sh := fmt.Sprintf("ulimit -v %d; exec \"$0\" \"$@\"", maxMemory)
	cmd := exec.Command("sh", append([]string{"-c", sh, test}, runFlags...)...)
	cmd.Dir = filepath.Join(dir, m.pkg)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, i))
	out, err := cmd.CombinedOutput()
	return err != nil, out
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
