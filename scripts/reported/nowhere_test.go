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

// boundary makes a pattern match whole words and versions.
func boundary(word string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^\w.])` + regexp.QuoteMeta(word) + `(?:$|[^\w.-]|\.(?:\D|$))`)
}

// short is the word by which a text has to name a library: its versions alone are those of others, too.
func short(library string) string {
	words := regexp.MustCompile(`[:/ ]`).Split(regexp.MustCompile(`/v\d+$|client/v\d+$`).ReplaceAllString(library, ""), -1)
	return words[len(words)-1]
}

// named is what a text names of a benchmark: ids and, in code, broken versions of libraries, except of one
// whose newest version is the broken one; "" if nothing.
func named(all *bugs, text string, inCode bool) string {
	for _, b := range all.Bugs {
		if strings.Contains(text, b.ID) && boundary(b.ID).MatchString(text) {
			return b.ID
		}
		if inCode && b.Fixed != "" && strings.Contains(text, b.Broken) && strings.Contains(text, short(b.Library)) && boundary(b.Broken).MatchString(text) {
			return b.Broken
		}
	}
	return ""
}

// Nothing in the repository knows a bug, but for the benchmark and the page of its results.
func TestNamedNowhereElse(t *testing.T) {
	all, files := benchmark(t), 0
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
		if what := named(all, string(text), inCode && !strings.HasPrefix(name, "docs/")); what != "" {
			t.Errorf("%s names %s of the benchmark of reported bugs", name, what)
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
	for text, want := range map[string]string{
		"as R01 does": "R01", "l@1.0.0": "1.0.0", `l "1.0.0"`: "1.0.0", "l in 1.0.0.": "1.0.0", "l in 1.0.0. Then": "1.0.0",
		"R010": "", "l 11.0.0": "", "l 1.0.0.1": "", "l 1.0.0-rc1": "", "TR01": "", "": "", "x@1.0.0": "",
	} {
		if got := named(all, text, true); got != want {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
	}
	if named(all, "l 1.0.0", false) != "" || named(all, "R02: x", false) != "R02" {
		t.Error("prose may name a version, and no id")
	}
	for library, want := range map[string]string{"org.redisson:redisson": "redisson", "github.com/go-redsync/redsync/v4": "redsync", "celery-redbeat": "celery-redbeat"} {
		if got := short(library); got != want {
			t.Errorf("%s is called %s, want %s", library, got, want)
		}
	}
}
