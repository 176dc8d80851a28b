package library

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeRegistry serves these files, by their paths.
func fakeRegistry(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(s.Close)
	return s.URL
}

// What each registry, or the tool that knows it, says is read.
func TestPublished(t *testing.T) {
	registry := fakeRegistry(t, map[string]string{
		"org/redisson/redisson/maven-metadata.xml": "<metadata><versioning><latest>4.0.0</latest><versions><version>3.9.0</version><version>4.0.0</version></versions></versioning></metadata>",
		"rs/lo/rslock": `{"name":"rslock","vers":"0.1.0","yanked":true}` + "\n" + `{"name":"rslock","vers":"0.2.0","yanked":false}` + "\n",
	})
	tools(t, map[string]string{
		"java": "", "javac": "", "mvn": "", "cargo": "", "cc": "", "node": "",
		"go":      `test "$*" = "list -m -versions github.com/go-redsync/redsync/v4" && echo "github.com/go-redsync/redsync/v4 v4.1.0 v4.1.1"`,
		"npm":     `test "$*" = "view redlock versions --json" && echo '["4.2.0","5.0.0-beta.2"]'`,
		"python3": `case "$*" in *"index versions"*redis) echo 'redis (8.1.0)'; echo 'Available versions: 8.1.0, 8.0.0';; *) exit 1;; esac`,
	})
	for lock, want := range map[string]string{"redisson": "3.9.0 4.0.0", "rslock": "0.2.0", "node-redlock": "4.2.0 5.0.0-beta.2", "redis-py": "8.1.0 8.0.0", "go-redsync": "4.1.0 4.1.1"} {
		t.Run(lock, func(t *testing.T) {
			p := named(t, lock, "")
			l := *p.language
			l.registry = registry
			p.language = &l
			got, err := p.published(t.Context())
			if err != nil || strings.Join(got, " ") != want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		})
	}
	p := named(t, "curator", "")
	l := *p.language
	l.registry = registry
	p.language = &l
	if _, err := p.published(t.Context()); err == nil || !strings.Contains(err.Error(), "404") || !strings.Contains(err.Error(), "org.apache.curator:curator-recipes") {
		t.Errorf("a library that the registry has not: %v", err)
	}
	if _, err := named(t, "kazoo", "").published(t.Context()); err == nil {
		t.Error("pip fails, and nobody says so")
	}
}

// The folders of the index of crates.
func TestCrateFolders(t *testing.T) {
	entry := `{"vers":"1.0.0"}` + "\n"
	registry := fakeRegistry(t, map[string]string{"1/a": entry, "2/ab": entry, "3/a/abc": entry, "ab/cd/abcd": entry})
	for _, name := range []string{"a", "ab", "abc", "ABCD"} {
		if got, err := publishedCrate(t.Context(), registry, name); err != nil || !slices.Equal(got, []string{"1.0.0"}) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
