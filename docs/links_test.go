// Package docs_test holds the pages to what they point at. It reads the repository's
// files and knows nothing of the program.
package docs_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const root = ".."

// Every relative link of every page leads to a file of the repository, and its anchor
// to a heading there.
func TestLinksResolve(t *testing.T) {
	pages := pages(t)
	if len(pages) < 10 || !slices.Contains(pages, "README.md") {
		t.Fatalf("only these pages were found: %q", pages)
	}
	links := 0
	for _, page := range pages {
		text := read(t, page)
		links += len(linksOf(text))
		for _, problem := range broken(root, page, text) {
			t.Error(problem)
		}
	}
	if links < 40 {
		t.Errorf("only %d links were found", links)
	}
}

// The check sees what it is there to see.
func TestBrokenLinksAreSeen(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"there.md": "# A heading: `with` code, v1.2\n\n## Twice\n\n## Twice\n\n```\n# no heading\n```\n", "a picture.png": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, good := range map[string]bool{
		"[x](there.md)":                                true,
		"[x](nowhere.md)":                              false,
		"[two\nlines](nowhere.md)":                     false,
		"[x](there.md#a-heading-with-code-v12)":        true,
		"[x](there.md#a-heading)":                      false,
		"[x](there.md#twice-1)":                        true,
		"[x](there.md#twice-2)":                        false,
		"[x](there.md#no-heading)":                     false,
		"![x](a%20picture.png)":                        true,
		`![x](nowhere.png "a title")`:                  false,
		`<img alt="x" src="nowhere.png">`:              false,
		`<source srcset="nowhere.svg" media="(x)">`:    false,
		"[![x](nowhere.svg)](there.md)":                false,
		"[![x](a%20picture.png)](nowhere.md)":          false,
		"[x]: nowhere.md":                              false,
		"[x](https://example.org/nowhere.md)":          true,
		"[x](mailto:a@example.org)":                    true,
		"`[x](nowhere.md)`":                            true,
		"```\n[x](nowhere.md)\n```":                    true,
		"# Here\n\n[x](#here) and [y](there.md#twice)": true,
		"# Here\n\n[x](#there)":                        false,
		"[x](../outside.md)":                           false,
	} {
		if got := broken(dir, "page.md", text); (len(got) == 0) != good {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "picklock-results" || d.Name() == "node_modules" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(path, ".md") {
			rel, err := filepath.Rel(root, path)
			out = append(out, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, page string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	fence  = regexp.MustCompile("(?ms)^ *(```|~~~).*?^ *(```|~~~) *$")
	inline = regexp.MustCompile("`[^`]*`")
	link   = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|(?:src|href|srcset)="([^"\s]+)"|(?m:^\[[^\]]+\]:\s+(\S+))`)
)

func linksOf(text string) []string {
	var out []string
	for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
		out = append(out, m[1]+m[2]+m[3])
	}
	return out
}

// broken lists the links of a page below dir that lead nowhere.
func broken(dir, page, text string) []string {
	var out []string
	for _, to := range linksOf(text) {
		u, err := url.Parse(to)
		if err != nil {
			out = append(out, fmt.Sprintf("%s: link %q: %v", page, to, err))
			continue
		}
		if u.Scheme != "" || u.Host != "" {
			continue
		}
		target, content := page, text
		if u.Path != "" {
			target = filepath.Join(filepath.Dir(page), filepath.FromSlash(u.Path))
			if !filepath.IsLocal(target) {
				out = append(out, fmt.Sprintf("%s: link %q leaves the repository", page, to))
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, target)); err != nil {
				out = append(out, fmt.Sprintf("%s: link %q: there is no %s", page, to, target))
				continue
			}
			if u.Fragment == "" || !strings.HasSuffix(target, ".md") {
				continue
			}
			b, err := os.ReadFile(filepath.Join(dir, target))
			if err != nil {
				out = append(out, fmt.Sprintf("%s: link %q: %v", page, to, err))
				continue
			}
			content = string(b)
		}
		if u.Fragment != "" && !slices.Contains(anchors(content), u.Fragment) {
			out = append(out, fmt.Sprintf("%s: link %q: %s has no such heading", page, to, target))
		}
	}
	return out
}

var heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#* *$`)

// anchors are the headings' names as GitHub makes them, and those that are given.
func anchors(text string) []string {
	var out []string
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(m[1], "$1")
		slug := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, name)
		if n := seen[slug]; n > 0 {
			out = append(out, fmt.Sprintf("%s-%d", slug, n))
		} else {
			out = append(out, slug)
		}
		seen[slug]++
	}
	for _, m := range regexp.MustCompile(`<a (?:id|name)="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}
