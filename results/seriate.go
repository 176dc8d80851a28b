package results

import "slices"

// maxSeriated bounds the work of seriate, which grows with the third power.
const maxSeriated = 400

// seriate orders names so that neighbours are close: the two closest groups are joined
// until one is left (average linkage), each time the way round in which their ends fit
// best. The end that weighs more comes first. The same input gives the same order.
func seriate(names []string, distance func(a, b string) float64, weight func(string) int) []string {
	n := len(names)
	if n < 3 || n > maxSeriated {
		return names
	}
	d := make([][]float64, n)
	for i, a := range names {
		d[i] = make([]float64, n)
		for j, b := range names[:i] {
			d[i][j] = distance(a, b)
			d[j][i] = d[i][j]
		}
	}
	groups := make([][]int, n)
	between := make([][]float64, n) // the mean distance of two groups
	for i := range groups {
		groups[i] = []int{i}
		between[i] = slices.Clone(d[i])
	}
	for range n - 1 {
		a, b := closest(groups, between)
		na, nb := float64(len(groups[a])), float64(len(groups[b]))
		for k := range groups {
			between[a][k] = (na*between[a][k] + nb*between[b][k]) / (na + nb)
			between[k][a] = between[a][k]
		}
		groups[a], groups[b] = joined(groups[a], groups[b], d), nil
	}
	order := groups[0]
	front, back := 0, 0
	for i, k := range order {
		if i < n/2 {
			front += weight(names[k])
		} else if i >= n-n/2 {
			back += weight(names[k])
		}
	}
	if back > front {
		slices.Reverse(order)
	}
	out := make([]string, n)
	for i, k := range order {
		out[i] = names[k]
	}
	return out
}

// closest finds the two groups that are left with the least distance, the first such.
func closest(groups [][]int, between [][]float64) (a, b int) {
	a = -1
	for i := range groups {
		for j := i + 1; groups[i] != nil && j < len(groups); j++ {
			if groups[j] != nil && (a < 0 || between[i][j] < between[a][b]-1e-9) {
				a, b = i, j
			}
		}
	}
	return a, b
}

// joined appends b to a, either of them turned round where the ends then fit better.
func joined(a, b []int, d [][]float64) []int {
	ar, br := slices.Clone(a), slices.Clone(b)
	slices.Reverse(ar)
	slices.Reverse(br)
	var best []int
	least := 0.0
	for _, pair := range [][2][]int{{a, b}, {a, br}, {ar, b}, {ar, br}} {
		x, y := pair[0], pair[1]
		if gap := d[x[len(x)-1]][y[0]]; best == nil || gap < least-1e-9 {
			best, least = slices.Concat(x, y), gap
		}
	}
	return best
}
