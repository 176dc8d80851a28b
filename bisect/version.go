package bisect

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// parts are the numbers and words of a version: 5.0.0-beta.2 has 5 0 0 beta 2.
var parts = regexp.MustCompile(`[0-9]+|[A-Za-z]+`)

// releases are words that a release may have: they say nothing of the order.
var releases = map[string]bool{"final": true, "ga": true, "release": true}

// split are the parts of a version without its build number and the words of releases, and without zeros at its end.
func split(version string) []string {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "+")
	var out []string
	for _, p := range parts.FindAllString(strings.ToLower(version), -1) {
		if !releases[p] {
			out = append(out, p)
		}
	}
	return out
}

// Compare orders versions as the registries of the languages do, as far as they agree: by numbers, and what
// has a word (rc, beta, m1) before the release of the same numbers. A word "post" comes after it.
func Compare(a, b string) int {
	x, y := split(a), split(b)
	for i := range max(len(x), len(y)) {
		if c := comparePart(at(x, i), at(y, i)); c != 0 {
			return c
		}
	}
	return 0
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// comparePart compares two parts, of which "" is none: a version that ends there.
func comparePart(a, b string) int {
	rank := func(p string) (kind, number int) {
		if n, err := strconv.Atoi(p); err == nil {
			return 2, n
		}
		if p == "" || p == "post" { // as a 0, after which another number decides
			return 2, 0
		}
		return 1, 0
	}
	kindA, numberA := rank(a)
	kindB, numberB := rank(b)
	if kindA != kindB {
		return cmp.Compare(kindA, kindB)
	}
	if kindA == 1 {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(numberA, numberB)
}

// early says whether a version comes before a release.
func early(version string) bool {
	for _, p := range split(version) {
		if c := p[0]; c >= 'a' && c <= 'z' && p != "post" {
			return true
		}
	}
	return false
}
