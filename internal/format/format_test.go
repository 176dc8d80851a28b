package format

import (
	"math"
	"testing"
)

func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		Instant(4812000000): "4.812 s", Page.Length(1300 * 1e6): "1.3 s", Page.Length(410 * 1e6): "410 ms", Page.Length(1234567): "1.23 ms", Page.Length(999): "999 ns", Page.Length(0): "0 ns",
		Page.Length(-5 * 1e6): "−5 ms", Page.Length(150e9): "150 s", Page.Length(3600e9): "60 min", Page.Length(math.MinInt64): "−2562047.8 h",
		Offset(1412*1e6, 500_000): "+1.4120 s", Offset(-1e6, 1e9): "−0.001 s", Offset(1500, 500): "+0.000002 s",
		Count(1234): "1234", Count(1234567): "1\u202f234\u202f567", Count(-12345): "-12\u202f345",
		And([]string{"a", "b", "c"}): "a, b and c", And([]string{"a", "b"}): "a and b", And([]string{"a"}): "a", And(nil): "",
		Plain.Length(999): "999 ns", Plain.Length(1234): "1.23 us", Plain.Length(999_999): "1000 us", Plain.Length(-1500): "-1.5 us", Plain.Length(123.4e9): "123.4 s", Plain.Length(7300e9): "7300 s",
		Table.Length(150_000): "0.15 ms", Table.Length(123.4e9): "123 s", Page.Length(7300e9): "2.0 h",
		Digits(123.4): "123", Figure(123.4): "123.4", Digits(12.34): "12.3", Digits(1): "1", InstantTo(1500, 6): "0.000002 s",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
