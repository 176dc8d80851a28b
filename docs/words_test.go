package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

// words are old terms, each with the one that the glossary has (docs/concepts/glossary.md).
var words = []struct{ old, term string }{
	{`late writes?`, "stale write"},
	{`by nothing at all`, "no fault injected"},
	{`fencing disciplines?`, "fencing mode"},
	{`plays?|played|playing|trials?`, "run, replay"},
	{`voided|is void|are void`, "discarded"},
	{`landed|seen to land`, "took effect, confirmed"},
	{`strikes?|struck|anchors?`, "trigger, begin"},
	{`lanes?`, "testbed"},
	{`remed(?:y|ies)|ways? out|what helps`, "mitigation"},
	{`zoo|twins?`, "seeded bug, control"},
	{`laid aside`, "dead-lettered"},
	{`map of the house`, "package layout"},
	{`proofs?`, "evidence"},
	{`deeds?`, "operation"},
	{`of ours|whoever|nobody|somebody|anybody`, "the actor's name"},
}

var (
	quoted      = regexp.MustCompile("\"[^\"\n]*\"")
	indentation = regexp.MustCompile(`(?m)^(?:    |>).*$`) // code, and what a program printed
	section     = regexp.MustCompile(`(?i)(\w+\s+)?\bsections?\b`)
)

// TestWords: one term for one concept in all prose. Code, output and quotations keep theirs.
func TestWords(t *testing.T) {
	banned := make([]*regexp.Regexp, len(words))
	for i, w := range words {
		banned[i] = regexp.MustCompile(`(?i)\b(?:` + w.old + `)\b`)
	}
	for _, page := range pages(t) {
		folder, _, _ := strings.Cut(strings.TrimPrefix(page, "docs/"), "/")
		switch folder {
		case "concepts", "findings", "guides", "internals", "quickstarts", "reference", "results", "start", "README.md", "CONTRIBUTING.md", "index.md":
		default:
			continue
		}
		text := fence.ReplaceAllString(read(t, page), "")
		text = quoted.ReplaceAllString(inline.ReplaceAllString(indentation.ReplaceAllString(text, ""), ""), "")
		for i, b := range banned {
			for _, m := range b.FindAllString(text, -1) {
				t.Errorf("%s says %q: the term is %s", page, m, words[i].term)
			}
		}
		for _, m := range section.FindAllStringSubmatch(text, -1) {
			if !strings.EqualFold(strings.TrimSpace(m[1]), "critical") {
				t.Errorf("%s says %q: the term is critical section", page, m[0])
			}
		}
	}
}
