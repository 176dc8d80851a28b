package clock

import (
	"context"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestSlots compares the hook's arithmetic, which wraps, with one that does not.
func TestSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := func(lo, hi int64, name string) int64 { return rapid.Int64Range(lo, hi).Draw(t, name) }
		at := whole(0, 1<<62, "at")
		to := Setting{
			Offset: time.Duration(whole(int64(-maxOffset), int64(maxOffset), "offset")),
			Rate:   rapid.Float64Range(1./maxRate, maxRate).Draw(t, "rate"),
			Strobe: time.Duration(whole(int64(-maxOffset), int64(maxOffset), "strobe")),
		}
		s := decodeSlot(to.slot(at).encode())
		if s != to.slot(at) {
			t.Fatalf("%+v became %+v", to.slot(at), s)
		}
		later := at + whole(-int64(10*365*24*time.Hour), int64(10*365*24*time.Hour), "later")
		got := s.setting(later)
		if math.Abs(got.Rate-to.Rate) > 1e-9 || got.Strobe != to.Strobe {
			t.Fatalf("%+v became %+v", to, got)
		}
		// offset + (later-at)*gain/2^32, and what rounding down twice can make.
		want := new(big.Int).Mul(big.NewInt(later-at), big.NewInt(s.gain))
		want.Add(want.Rsh(want, 32), big.NewInt(int64(to.Offset)))
		if !want.IsInt64() || later < 0 {
			return // no time of a clock
		}
		if d := int64(got.Offset) - want.Int64(); d < 0 || d > 1 {
			t.Fatalf("%+v since %d is at %d %v ahead, want %v", to, at, later, got.Offset, want)
		}
		if s.gain == 0 && got.Offset != to.Offset {
			t.Fatalf("%v became %v", to.Offset, got.Offset)
		}
	})
}

func TestSettings(t *testing.T) {
	for _, tc := range []struct {
		to    Setting
		right bool
		err   string
	}{
		{Setting{}, true, ""},
		{Setting{Rate: 1}, true, ""},
		{Setting{Rate: 1.01}, false, ""},
		{Setting{Rate: 100}, false, ""},
		{Setting{Rate: 0.01}, false, ""},
		{Setting{Offset: -1}, false, ""},
		{Setting{Strobe: 1}, false, ""},
		{Setting{Offset: maxOffset + 1}, false, "68 years"},
		{Setting{Offset: -maxOffset - 1}, false, "68 years"},
		{Setting{Strobe: maxOffset + 1}, false, "68 years"},
		{Setting{Rate: 100.1}, false, "not between 0.01 and 100"},
		{Setting{Rate: -1}, false, "not between"},
		{Setting{Rate: math.NaN()}, false, "not between"},
		{Setting{Rate: math.Inf(1)}, false, "not between"},
	} {
		if got := tc.to.Right(); got != tc.right {
			t.Errorf("%+v is right: %v", tc.to, got)
		}
		_, err := Set(context.Background(), os.Getpid(), tc.to, 0)
		if got := tc.to.Check(); tc.err == "" && got != nil || tc.err != "" && (err == nil || got == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%+v: %v, %v; want %q", tc.to, got, err, tc.err)
		}
	}
}
