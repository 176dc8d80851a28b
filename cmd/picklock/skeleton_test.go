package main

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// protocolWords are those of docs/exec.md: the requests and events of its lines, and the
// first column of its tables.
var protocolWords = regexp.MustCompile("\"(?:op|event|mode)\":\"([a-z]+)\"|(?m:^\\| `([a-z_]+)` \\|)|\"(timeout_ms|ttl_ms|servers)\":")

// TestSkeletonsSpeakTheProtocol: what init writes has every word of the protocol in it, so
// that whoever puts a lock of their own in its place sees what there is to be said.
func TestSkeletonsSpeakTheProtocol(t *testing.T) {
	page, err := os.ReadFile("../../docs/exec.md")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]*regexp.Regexp{}
	for _, m := range protocolWords.FindAllStringSubmatch(string(page), -1) {
		if word := m[2] + m[3]; word != "" {
			words[word] = regexp.MustCompile(`\b` + word + `\b`)
		}
	}
	for _, m := range protocolWords.FindAllStringSubmatch(string(page), -1) {
		if m[1] != "" { // a text in every language, so that a comment does not do
			words[m[1]] = regexp.MustCompile(`["']` + m[1] + `\\?["']`)
		}
	}
	for _, word := range []string{"open", "renew", "renewed", "lost", "shared", "tokens", "since_ns", "permits", "reentrant", "timeout_ms"} {
		if words[word] == nil {
			t.Errorf("docs/exec.md does not show %q where this test looks", word)
		}
	}
	for lang := range languages {
		templates, err := fs.Glob(skeleton, "skeleton/"+lang+"/*.tmpl")
		if err != nil || len(templates) == 0 {
			t.Fatalf("%s: %v, %v", lang, templates, err)
		}
		var all strings.Builder
		for _, name := range templates {
			text, err := skeleton.ReadFile(path.Clean(name))
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		for word, form := range words {
			if !form.MatchString(all.String()) {
				t.Errorf("the skeleton in %s does not have the protocol's %q", lang, word)
			}
		}
	}
}
