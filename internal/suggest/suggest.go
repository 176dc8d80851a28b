// Package suggest finds the known word that is nearest to a misspelt one, for error messages.
// Its callers bring the words.
package suggest

import (
	"errors"
	"fmt"
	"strings"
)

// Word is ": did you mean WORD?" with the one of words that is nearest to word, or ""
// where none is near.
func Word(word string, words []string) string {
	best, least := "", 1+len(word)/3
	for _, w := range words {
		if d := distance(strings.ToLower(word), strings.ToLower(w)); d <= least && (best == "" || d < distance(strings.ToLower(word), strings.ToLower(best))) {
			best = w
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", best)
}

// Unknown is the error for a word that is no name of its kind ("lock"): it guesses
// the nearest one and lists all of them, and more.
func Unknown(kind, word string, words []string, more ...string) error {
	list := strings.Join(append(append([]string(nil), words...), more...), ", ")
	if guess := Word(word, words); guess != "" {
		return fmt.Errorf("unknown %s %q%s (have %s)", kind, word, guess, list)
	}
	if list == "" {
		return errors.New("unknown " + kind + fmt.Sprintf(" %q", word))
	}
	return fmt.Errorf("unknown %s %q: have %s", kind, word, list)
}

// distance is the number of letters to insert, delete, replace or swap with their
// neighbour to make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
		for j := 1; j <= len(b); j++ {
			if i == 0 {
				rows[i][j] = j
				continue
			}
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
