package percentile

import "testing"

func TestOf(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for _, c := range []struct {
		sorted        []int
		percent, want int
	}{
		{[]int{7}, 0, 7}, {[]int{7}, 100, 7},
		{[]int{1, 2}, 50, 1}, {[]int{1, 2}, 99, 1}, {[]int{1, 2}, 100, 2},
		{hundred, 50, 50}, {hundred, 95, 95}, {hundred, 99, 99}, {hundred, 100, 100},
	} {
		if got := Of(c.sorted, c.percent); got != c.want {
			t.Errorf("%d %% of %d values is %d, want %d", c.percent, len(c.sorted), got, c.want)
		}
	}
}
