package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// nearest is how many words Listed suggests at most.
const nearest = 3

// Listed is Unknown for a kind with more names than a line holds: it guesses the nearest three,
// and says which command lists all.
func Listed(kind, word string, words []string, command string) error {
	list := fmt.Sprintf("%s shows all %d", command, len(words))
	near := Near(word, words)
	switch n := len(near); n {
	case 0:
		return fmt.Errorf("unknown %s %q: %s", kind, word, list)
	case 1:
		return fmt.Errorf("unknown %s %q: did you mean %s? (%s)", kind, word, near[0], list)
	default:
		return fmt.Errorf("unknown %s %q: did you mean %s or %s? (%s)", kind, word, strings.Join(near[:n-1], ", "), near[n-1], list)
	}
}

// Near are at most three of words that word may stand for, the nearest first: misspelt ones, and
// those that contain it.
func Near(word string, words []string) []string {
	lower := strings.ToLower(word)
	type candidate struct {
		word string
		far  int
	}
	var found []candidate
	for _, w := range words {
		far := distance(lower, strings.ToLower(w))
		if far <= 1+len(word)/3 || len(word) > 2 && strings.Contains(strings.ToLower(w), lower) {
			found = append(found, candidate{w, far})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var out []string
	for _, c := range found[:min(nearest, len(found))] {
		out = append(out, c.word)
	}
	return out
}
