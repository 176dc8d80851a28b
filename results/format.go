package results

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/picklock/picklock/internal/format"
)

// Everything in a history may come from a hostile server, so every string that
// is shown passes through clean, whatever escaping the target format adds.

// clean replaces what could steer a terminal or reorder text: control
// characters, bidirectional overrides and broken UTF-8.
func clean(s string) string {
	ok := utf8.ValidString(s)
	for _, r := range s {
		if !printable(r) {
			ok = false
			break
		}
	}
	if ok {
		return s
	}
	return strings.Map(func(r rune) rune {
		if printable(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}

// CleanLines is a text for a terminal: what could steer that or reorder the text is replaced, line by line.
func CleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = clean(line)
	}
	return strings.Join(lines, "\n")
}

func printable(r rune) bool {
	switch {
	case r == '\u2028', r == '\u2029', r >= '\u202A' && r <= '\u202E', r >= '\u2066' && r <= '\u2069':
		return false
	}
	return !unicode.IsControl(r)
}

// clip is clean and cuts s to at most n characters.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) > n {
		s = string([]rune(s)[:n-1]) + "…"
	}
	return clean(s)
}

// plural is "1 grant", "2 grants".
func plural(n int, one, many string) string {
	return format.Count(n) + " " + format.Noun(n, one, many)
}

// sentence ends s with a full stop if it ends with no mark at all.
func sentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}
