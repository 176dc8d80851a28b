package format

import "testing"

func TestShell(t *testing.T) {
	for want, words := range map[string][]string{
		"picklock run --faults pause:holder,clock": {"picklock", "run", "--faults", "pause:holder,clock"},
		`'it'\''s' '' 'a b' '$x' '*'`:              {"it's", "", "a b", "$x", "*"},
	} {
		if got := Shell(words...); got != want {
			t.Errorf("%q: %s, want %s", words, got, want)
		}
	}
}
