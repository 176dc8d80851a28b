// Package format writes times, numbers and other programs' words for people: one rule for the checker's
// explanations, the report, and the report's script, which is given the rule as data. It
// knows nothing of what the figures mean.
package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Unit is what lengths of time are told in that are shorter than the next one.
type Unit struct {
	Name  string  `json:"name"`
	Below float64 `json:"below"` // ns: longer ones have another unit; 0 has no bound
	Size  float64 `json:"size"`  // ns
	// Places is how many decimals are written; Significant: those that matter.
	Places int `json:"places"`
}

// Significant as a unit's Places leaves it to Lengths.Digits.
const Significant = -1

// Lengths is a way to write lengths of time.
type Lengths struct {
	Units []Unit `json:"units"` // the shortest first
	Minus string `json:"minus"`
	// Large is how many decimals numbers of 100 and more have at most.
	Large int `json:"large"`
}

var (
	// Plain is what every terminal and every file takes: "1.3 s", "40 ms", "12.5 us".
	Plain = Lengths{[]Unit{
		{"ns", 1e3, 1, 0},
		{"us", 1e6, 1e3, Significant},
		{"ms", 1e9, 1e6, Significant},
		{"s", 0, 1e9, Significant},
	}, "-", 1}
	// Page is for a page of the report, which has room for more units and no need of
	// more than three digits.
	Page = Lengths{[]Unit{
		{"ns", 1e3, 1, 0},
		{"µs", 1e6, 1e3, Significant},
		{"ms", 1e9, 1e6, Significant},
		{"s", 600e9, 1e9, Significant},
		{"min", 2 * 3600e9, 60e9, 0},
		{"h", 0, 3600e9, 1},
	}, "−", 0}
	// Table is for a column of figures, which should compare at a glance.
	Table = Lengths{[]Unit{
		{"ms", 1e9, 1e6, Significant},
		{"s", 0, 1e9, Significant},
	}, "-", 0}
)

// Length writes a length of time.
func (l Lengths) Length(ns int64) string {
	sign, v := "", math.Abs(float64(ns))
	if ns < 0 {
		sign = l.Minus
	}
	unit := l.Units[len(l.Units)-1]
	for _, u := range l.Units {
		if v < u.Below {
			unit = u
			break
		}
	}
	if unit.Places == Significant {
		return sign + digits(v/unit.Size, l.Large) + " " + unit.Name
	}
	return sign + strconv.FormatFloat(v/unit.Size, 'f', unit.Places, 64) + " " + unit.Name
}

// Digits writes three digits of a number that is not negative, more where it is greater
// than 1000, without zeros at the end.
func Digits(v float64) string { return digits(v, 0) }

// Figure is Digits with a decimal also of numbers that are greater than 100.
func Figure(v float64) string { return digits(v, 1) }

func digits(v float64, large int) string {
	places := large
	switch {
	case v < 10:
		places = 2
	case v < 100:
		places = 1
	}
	s := strconv.FormatFloat(v, 'f', places, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Instant writes a point in time since the run's start: "4.812 s".
func Instant(ns int64) string { return InstantTo(ns, 3) }

// InstantTo is Instant with so many decimals.
func InstantTo(ns int64, places int) string {
	return strconv.FormatFloat(float64(ns)/1e9, 'f', places, 64) + " s"
}

// Offset writes an offset between instants that lie gap apart, with the decimals that
// tell them apart: "+1.412 s".
func Offset(ns, gap int64) string {
	sign, places := "+", 3
	switch {
	case gap < 1e4:
		places = 6
	case gap < 1e6:
		places = 4
	}
	v := float64(ns) / 1e9
	if v < 0 {
		sign, v = "−", -v
	}
	return fmt.Sprintf("%s%.*f s", sign, places, v)
}

// Count groups a count's digits by thin spaces, from five digits up.
func Count(n int) string {
	s := strconv.Itoa(n)
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	if len(s) > 4 {
		var b strings.Builder
		for i, r := range s {
			if i > 0 && (len(s)-i)%3 == 0 {
				b.WriteRune('\u202F')
			}
			b.WriteRune(r)
		}
		s = b.String()
	}
	if neg {
		return "-" + s
	}
	return s
}

// And joins words as a sentence does: "a, b and c".
func And(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Noun is a word as it stands behind a number.
func Noun(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
