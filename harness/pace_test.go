package harness

import (
	"slices"
	"testing"
)

func TestOutages(t *testing.T) {
	for _, c := range []struct {
		name           string
		grants, faults []int64
		want           []int64
	}{
		{"no fault", []int64{1, 2, 3}, nil, nil},
		{"no grant", nil, []int64{5}, nil},
		{"the gap that it falls into", []int64{10, 20, 50, 60}, []int64{25}, []int64{25}},
		{"a grant under way is answered first", []int64{10, 20, 26, 90, 100}, []int64{25}, []int64{64}},
		{"the time before it does not count", []int64{0, 1000, 1010}, []int64{990}, []int64{10}},
		{"each for itself", []int64{0, 10, 40, 50, 60, 160, 170}, []int64{5, 55}, []int64{30, 100}},
		{"never granted again", []int64{0, 10}, []int64{20}, nil},
	} {
		if got := outages(c.grants, c.faults); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
