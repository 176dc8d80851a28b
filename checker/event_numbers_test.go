package checker

import "testing"

// TestPlaces: events keep their numbers, whatever those are.
func TestPlaces(t *testing.T) {
	for name, number := range map[string]func(i int) int64{
		"from 0":       func(i int) int64 { return int64(i) },
		"from 1":       func(i int) int64 { return int64(i) + 1 },
		"backwards":    func(i int) int64 { return int64(5000 - i) },
		"with a gap":   func(i int) int64 { return int64(i + i/1500) },
		"every second": func(i int) int64 { return int64(2 * i) },
	} {
		var l eventNumbers
		for i := range 4000 {
			l.add(int32(i), number(i))
		}
		for i := range 4000 {
			if got := l.at(int32(i), -1); len(got) != 1 || got[0] != number(i) {
				t.Fatalf("%s: event %d has the number %v, want %d", name, i, got, number(i))
			}
		}
	}
}
