package scenarios

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Span is a length of time that is given in leases or in seconds: what is found with one
// lease holds with another, too, if its times are leases.
type Span struct {
	Leases float64
	Fixed  time.Duration
}

// Of is the span where a lease lasts ttl.
func (s Span) Of(ttl time.Duration) time.Duration {
	return s.Fixed + time.Duration(s.Leases*float64(ttl))
}

func (s Span) some() bool { return s != Span{} }

func (s Span) String() string {
	if s.Fixed != 0 {
		return s.Fixed.String()
	}
	n := strconv.FormatFloat(s.Leases, 'g', 4, 64)
	if n == "1" {
		return "1 lease"
	}
	return n + " leases"
}

// longestSpan keeps a run from lasting for ever.
const (
	longestSpan   = 10 * time.Minute
	longestLeases = 100
)

// parseSpan reads "1.3 leases", "1 lease" or "500ms".
func parseSpan(text string) (Span, error) {
	number, unit, words := strings.Cut(strings.TrimSpace(text), " ")
	if unit = strings.TrimSpace(unit); words && (unit == "leases" || unit == "lease") {
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || !(n > 0 && n <= longestLeases) {
			return Span{}, fmt.Errorf("%q is no number of leases: want one like 1.3, of at most %d", number, longestLeases)
		}
		return Span{Leases: n}, nil
	}
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d <= 0 || d > longestSpan {
		return Span{}, fmt.Errorf("%q is no length of time: want one like 1.3 leases or 500ms, of at most %v", text, longestSpan)
	}
	return Span{Fixed: d}, nil
}
