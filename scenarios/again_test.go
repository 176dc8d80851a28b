package scenarios

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A program that repeats itself is read and written in short, and is the same as the long one.
func TestAgain(t *testing.T) {
	for _, tt := range []struct{ in, out string }{
		{"acquire, release, again 9 times", "acquire, release, again 9 times"},
		{"acquire, release, acquire, release, acquire, release, read", "acquire, release, again 2 times, read"},
		{"acquire, release, again 1 times, acquire", "acquire, release, acquire, release, acquire"},
		{"acquire, again 2 times, release", "acquire, again 2 times, release"},
		{"acquire, release, again 2 times, again 2 times", "acquire, release, again 8 times"},
	} {
		p, err := ParseProgram(tt.in, []string{"A"})
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
		} else if p.String() != tt.out {
			t.Errorf("%s: written as %s, want %s", tt.in, p, tt.out)
		}
	}
	if p := MustProgram("acquire, work 2 leases, release, again 3 times, read", []string{"A"}); len(p) != 13 {
		t.Errorf("%d moves: %v", len(p), p)
	}
	for _, tt := range []struct{ in, why string }{
		{"again 3 times, acquire", "want moves, and then how often"},
		{"acquire, again", "want moves, and then how often"},
		{"acquire, again twice", "want moves, and then how often"},
		{"acquire, again 0 times", "1000 moves at most"},
		{"acquire, again 1000 times", "1000 moves at most"},
		{"acquire, again 99999999999999999999 times", "1000 moves at most"},
		{"acquire, release, again 30 times, again 30 times", "1000 moves at most"},
	} {
		if _, err := ParseProgram(tt.in, []string{"A"}); err == nil || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s: %v", tt.in, err)
		}
	}
}

// Whatever a program is, what is written of it is that program.
func TestProgramIsWritten(t *testing.T) {
	moves := []string{"acquire", "read", "release", "work 0.5 leases", "await A granted"}
	rapid.Check(t, func(t *rapid.T) {
		words := append([]string{"acquire"}, rapid.SliceOfN(rapid.SampledFrom(moves[:rapid.IntRange(1, len(moves)).Draw(t, "of")]), 0, 24).Draw(t, "moves")...)
		p := MustProgram(strings.Join(words, ", "), []string{"A"})
		if q := MustProgram(p.String(), []string{"A"}); !reflect.DeepEqual(p, q) {
			t.Fatalf("%v is written as %s", words, p)
		}
	})
}
