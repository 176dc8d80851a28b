package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// generated are files that a package manager writes: they name every version of everything.
var generated = []string{"go.sum", "package-lock.json", "Cargo.lock"}

// code ends the names of what programs are made from.
var code = []string{".go", ".java", ".py", ".mjs", ".js", ".rs", ".yml", ".yaml", ".toml", ".xml", ".tmpl", ".txt", ".json"}

// names is what a bug is known by: its id and, in code, its broken version, except of a library whose
// newest version is the broken one.
func names(all *bugs, inCode bool) *regexp.Regexp {
	var words []string
	for _, b := range all.Bugs {
		words = append(words, b.ID)
		if inCode && b.Fixed != "" {
			words = append(words, regexp.QuoteMeta(b.Broken))
		}
	}
	return regexp.MustCompile(`(?:^|[^\w.])(` + strings.Join(words, "|") + `)(?:$|[^\w.-]|\.(?:\D|$))`)
}

// Nothing in the repository knows a bug, but for the benchmark and the page of its results.
func TestNamedNowhereElse(t *testing.T) {
	all, files := benchmark(t), 0
	prose, source := names(all, false), names(all, true)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (name == "bin" || name == ".git" || strings.HasPrefix(d.Name(), "picklock-results") || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir(), !d.Type().IsRegular(), slices.Contains(generated, d.Name()),
			strings.HasPrefix(name, "scripts/reported/"), strings.HasPrefix(name, "docs/results/reported"):
			return nil
		}
		inCode := slices.Contains(code, filepath.Ext(name))
		if !inCode && filepath.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		what := prose
		if inCode && !strings.HasPrefix(name, "docs/") {
			what = source
		}
		if m := what.FindSubmatch(text); m != nil {
			t.Errorf("%s names %s of the benchmark of reported bugs", name, m[1])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files were read", files)
	}
}

// The test above sees what it is there to see.
func TestNaming(t *testing.T) {
	all, err := load([]byte(sound))
	if err != nil {
		t.Fatal(err)
	}
	prose, source := names(all, false), names(all, true)
	for text, want := range map[string]string{
		"as R01 does": "R01", "lock@1.0.0": "1.0.0", `"1.0.0"`: "1.0.0", "in 1.0.0.": "1.0.0", "in 1.0.0. Then": "1.0.0",
		"R010": "", "11.0.0": "", "1.0.0.1": "", "1.0.0-rc1": "", "TR01": "", "": "",
	} {
		got := ""
		if m := source.FindStringSubmatch(text); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
	}
	if prose.MatchString("version 1.0.0") || !prose.MatchString("R02: x") {
		t.Error("prose may name a version, and no id")
	}
}
