package results

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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

// instant prints a point in time since the run's start: seconds with ms.
func instant(ns int64) string {
	return fmt.Sprintf("%.3f s", float64(ns)/1e9)
}

// span prints a duration with about three significant digits.
func span(ns int64) string {
	sign := ""
	if ns < 0 {
		sign = "−"
	}
	v := math.Abs(float64(ns))
	switch {
	case v < 1e3:
		return fmt.Sprintf("%s%.0f ns", sign, v)
	case v < 1e6:
		return sign + digits(v/1e3) + " µs"
	case v < 1e9:
		return sign + digits(v/1e6) + " ms"
	case v < 600e9:
		return sign + digits(v/1e9) + " s"
	case v < 2*3600e9:
		return fmt.Sprintf("%s%.0f min", sign, v/60e9)
	default:
		return fmt.Sprintf("%s%.1f h", sign, v/3600e9)
	}
}

// digits prints three significant digits without trailing zeros.
func digits(v float64) string {
	prec := 0
	switch {
	case v < 10:
		prec = 2
	case v < 100:
		prec = 1
	}
	s := strconv.FormatFloat(v, 'f', prec, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// relative prints an offset from a chain's first event, with the decimals that
// tell its two closest steps apart.
func relative(ns, gap int64) string {
	sign, prec := "+", 3
	switch {
	case gap < 1e4:
		prec = 6
	case gap < 1e6:
		prec = 4
	}
	v := float64(ns) / 1e9
	if v < 0 {
		sign, v = "−", -v
	}
	return fmt.Sprintf("%s%.*f s", sign, prec, v)
}

// number groups a count's digits by thin spaces, from five digits up.
func number(n int) string {
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

// plural is "1 grant", "2 grants".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// and joins words as a sentence does: "a, b and c".
func and(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// sentence ends s with a full stop if it ends with no mark at all.
func sentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

// quoteShell quotes one argument for a POSIX shell.
func quoteShell(s string) string {
	plain := s != ""
	for _, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		plain = plain && (letter || strings.ContainsRune("-_=+:,./@%", r))
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(clean(s), "'", `'\''`) + "'"
}
