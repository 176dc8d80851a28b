package compose

import (
	"strconv"
	"strings"
)

// compareNatural orders redis2 before redis10.
func compareNatural(a, b string) int {
	as, an := splitNumber(a)
	bs, bn := splitNumber(b)
	if as != bs {
		return strings.Compare(as, bs)
	}
	return an - bn
}

func splitNumber(s string) (string, int) {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	n, _ := strconv.Atoi(s[i:]) // no digits: 0
	return s[:i], n
}
