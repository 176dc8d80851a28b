package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// comparisons are what is inverted; and calls of min, max and Compare, which are
// comparisons in other words.
var comparisons = []token.Token{token.LSS, token.GEQ, token.GTR, token.LEQ, token.EQL, token.NEQ}

// mutation is one inverted comparison.
type mutation struct {
	file  string
	line  int
	name  string // "checker/lease.go findAlive: r.until <= last.to", stable when lines move
	edits []edit
}

// edit replaces a part of a file; an empty part is where to insert.
type edit struct {
	from, to int
	closing  bool
	text     string // with the mutation's number for %d
}

// mutations lists every comparison, outside of tests; of some files only, if any
// are named.
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
					edits := inversion(n, func(p token.Pos) int { return set.Position(p).Offset })
					if edits == nil {
						return true
					}
					code := string(text[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset])
					m := mutation{file: file, line: set.Position(n.Pos()).Line, edits: edits}
					if b, ok := n.(*ast.BinaryExpr); ok {
						m.line = set.Position(b.OpPos).Line
					}
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
	if len(out) == 0 {
		return nil, fmt.Errorf("no comparisons in %s: want names like checker/lease.go", strings.Join(append(only, root), ", "))
	}
	return out, nil
}

// inversion says how to invert a comparison; nil for other things.
func inversion(n ast.Node, at func(token.Pos) int) []edit {
	around := func(what string) []edit {
		from, to := at(n.Pos()), at(n.End())
		return []edit{{from, from, false, what}, {to, to, true, ")"}}
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if slices.Contains(comparisons, n.Op) {
			return around("mutated(%d, ")
		}
	case *ast.CallExpr:
		switch f := n.Fun.(type) {
		case *ast.Ident:
			if f.Name == "min" || f.Name == "max" {
				name := map[string]string{"min": "mutatedMin(%d, ", "max": "mutatedMax(%d, "}[f.Name]
				return []edit{{at(f.Pos()), at(n.Lparen) + 1, false, name}}
			}
		case *ast.SelectorExpr:
			if f.Sel.Name == "Compare" {
				return around("mutatedOrder(%d, ")
			}
		}
	}
	return nil
}
