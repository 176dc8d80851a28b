package docs_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// banned are words that help, output and exported names do not use, each with the term of
// docs/concepts/glossary.md that they use instead.
var banned = []struct{ word, use string }{
	{`lanes?`, "testbed"},
	{`plays?|playing|played|players?`, "run, replay"},
	{`trials?`, "run"},
	{`void`, "discarded"},
	{`landed|seen to land`, "took effect, confirmed"},
	{`late writes?|late-write`, "stale write"},
	{`by nothing at all`, "no fault injected"},
	{`anchors?`, "trigger"},
	{`disciplines?`, "fencing mode"},
	{`remed(y|ies)|way out|what helps`, "mitigation"},
	{`zoo|twins?`, "seeded bug, control"},
	{`doors?`, "packet queue"},
	{`laid aside`, "dead-lettered"},
	{`map of the house`, "package layout"},
	{`comes? at will|at will`, "reproduced reliably"},
	{`who comes|is said|else is said|of ours|of one's own|deeds?|told|whoever|somebody|anybody|lend hands|good-bye`, "the name of the actor"},
}

// allowed are uses of a banned word with another meaning.
var allowed = regexp.MustCompile(`(?i)text-anchor|void (open|tell|renewed|lost|main|[a-z]+\()|static void|public void|as fail void|display`)

func bannedWord(text string) (word, use string) {
	text = allowed.ReplaceAllString(text, "")
	for _, b := range banned {
		if m := regexp.MustCompile(`(?i)\b(` + b.word + `)\b`).FindString(text); m != "" {
			return m, b.use
		}
	}
	return "", ""
}

func TestBannedWords(t *testing.T) {
	for text, want := range map[string]string{
		"2 void, 3 lanes": "lanes", "the schedule was played": "played", "a late write by nothing": "late write",
		"a display": "", "avoid it": "", "replays it": "", "the run was discarded": "", `<text text-anchor="end">`: "",
	} {
		if got, _ := bannedWord(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestWordsOfOutput: output is every string of the program, every page that it writes, and every
// exported name.
func TestWordsOfOutput(t *testing.T) {
	program := func(path string) bool {
		return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "testdata/") && !strings.Contains(path, "/repro/") && !strings.HasPrefix(path, "internal/testkit")
	}
	each(t, func(path string) bool { return strings.HasSuffix(path, ".tmpl") && strings.Contains(path, "/assets/") }, func(path, text string) {
		for i, line := range strings.Split(text, "\n") {
			if word, use := bannedWord(line); word != "" {
				t.Errorf("%s:%d: %q: use %s", path, i+1, word, use)
			}
		}
	})
	each(t, program, func(path, text string) {
		if path == "history/event.go" || path == "history/stream.go" {
			text = strings.NewReplacer(`"landed"`, `""`, "former.Landed", "former.X", "Landed bool", "X bool").Replace(text) // the key of earlier histories is read
		}
		files := token.NewFileSet()
		file := files.AddFile(path, -1, len(text))
		var s scanner.Scanner
		s.Init(file, []byte(text), nil, 0)
		for {
			pos, tok, lit := s.Scan()
			if tok == token.EOF {
				break
			}
			if tok != token.STRING {
				continue
			}
			for i, line := range strings.Split(lit, "\n") {
				if word, use := bannedWord(line); word != "" {
					t.Errorf("%s:%d: %q: use %s: %s", path, files.Position(pos).Line+i, word, use, strings.TrimSpace(line))
				}
			}
		}
		parsed, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{"Void": true} // of chromedp
		ast.Inspect(parsed, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.IsExported() && !seen[id.Name] {
				seen[id.Name] = true
				if word, use := bannedWord(spaced(id.Name)); word != "" {
					t.Errorf("%s: %s: use %s", files.Position(id.Pos()), id.Name, use)
				}
			}
			return true
		})
	})
}

// spaced splits a name of Go into words.
func spaced(name string) string {
	return regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(strings.ReplaceAll(name, "ZooKeeper", "zookeeper"), "$1 $2")
}

// each calls do with the path below the project's root and the text of each file that is wanted.
func each(t *testing.T, wanted func(string) bool, do func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path, err = filepath.Rel("..", path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == ".git" || name == "node_modules" || name == "site" || name == "bin" || strings.HasPrefix(name, "picklock-results") {
				return filepath.SkipDir
			}
			return nil
		}
		if path = filepath.ToSlash(path); wanted(path) {
			do(path, read(t, path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
