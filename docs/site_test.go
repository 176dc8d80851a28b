package docs_test

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// navigated lists the pages that a navigation has, in its order.
func navigated(nav any) []string {
	switch n := nav.(type) {
	case string:
		return []string{n}
	case []any:
		var out []string
		for _, item := range n {
			out = append(out, navigated(item)...)
		}
		return out
	case map[string]any:
		var out []string
		for _, item := range n {
			out = append(out, navigated(item)...)
		}
		return out
	}
	return nil
}

// TestEveryPageIsInTheNavigation: a page that no reader of the site can reach is an orphan,
// and one that is named twice has two homes. `make docs` looks at the rest.
func TestEveryPageIsInTheNavigation(t *testing.T) {
	text, err := os.ReadFile("../mkdocs.yml")
	if err != nil {
		t.Fatal(err)
	}
	var site struct{ Nav any }
	if err := yaml.Unmarshal(text, &site); err != nil {
		t.Fatal(err)
	}
	nav := navigated(site.Nav)
	count := map[string]int{}
	for _, page := range nav {
		count[page]++
		if strings.Contains(page, "://") {
			continue
		}
		if _, err := os.Stat(page); err != nil {
			t.Errorf("mkdocs.yml has %s in its navigation: %v", page, err)
		}
		if count[page] > 1 {
			t.Errorf("mkdocs.yml has %s %d times in its navigation", page, count[page])
		}
	}
	found := 0
	for _, page := range pages(t) {
		page, below := strings.CutPrefix(page, "docs/")
		if !below {
			continue
		}
		found++
		if !slices.Contains(nav, page) {
			t.Errorf("docs/%s is not in the navigation of mkdocs.yml", page)
		}
		if name := path.Base(page); name != strings.ToLower(name) {
			t.Errorf("docs/%s: write a page's name in lower case, it is an address", page)
		}
	}
	if found < 20 {
		t.Errorf("only %d pages were found", found)
	}
}

// TestToolsArePinned: the same site from the same commit.
func TestToolsArePinned(t *testing.T) {
	text, err := os.ReadFile("requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.Contains(line, "==") {
			t.Errorf("docs/requirements.txt: %q has no exact version", line)
		}
	}
	if !strings.Contains(string(text), "\nmkdocs-material==") {
		t.Error("docs/requirements.txt does not name mkdocs-material")
	}
}
