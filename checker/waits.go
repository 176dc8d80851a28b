package checker

import (
	"math"
	"slices"
)

// waitTimes is how long granted acquires took, in ns: four bytes for each, since most took
// less than four seconds.
type waitTimes struct {
	short [][]uint32 // in blocks that do not grow
	long  []int64    // what does not fit
	n     int
}

// waitBlock is how many fit into one block, and fewWaits how many are sorted: counting them takes a
// table of half a megabyte.
const (
	waitBlock = 1 << 14
	fewWaits  = 1 << 12
)

func (w *waitTimes) add(ns int64) {
	w.n++
	if ns < 0 || ns > math.MaxUint32 {
		w.long = push(w.long, ns)
		return
	}
	last := len(w.short) - 1
	if last < 0 || len(w.short[last]) == waitBlock {
		w.short, last = append(w.short, nil), last+1
	}
	w.short[last] = push(w.short[last], uint32(ns))
}

// summary sums them up; nil where there are none.
func (w *waitTimes) summary() *Waits {
	if w.n == 0 {
		return nil
	}
	slices.Sort(w.long)
	var sorted []uint32
	var counts []int
	if w.n-len(w.long) <= fewWaits {
		w.each(func(v uint32) { sorted = append(sorted, v) })
		slices.Sort(sorted)
	} else {
		counts = make([]int, 1<<16)
	}
	at := func(percent int) int64 { return w.nth((w.n-1)*percent/100, sorted, counts) }
	return &Waits{P50: at(50), P95: at(95), P99: at(99), Max: at(100)}
}

// nth is the n-th smallest, from 0 on; long is sorted. What is short is looked up where it is
// sorted. Otherwise it is found by its upper half first, in a table of counts that each call
// uses anew: sorting would take as much memory again.
func (w *waitTimes) nth(n int, sorted []uint32, counts []int) int64 {
	negative, _ := slices.BinarySearch(w.long, 0)
	short := w.n - len(w.long)
	switch {
	case n < negative:
		return w.long[n]
	case n >= negative+short:
		return w.long[n-short]
	}
	n -= negative
	if sorted != nil {
		return int64(sorted[n])
	}
	high, n := pick(n, counts, func(count func(uint16)) {
		w.each(func(v uint32) { count(uint16(v >> 16)) })
	})
	low, _ := pick(n, counts, func(count func(uint16)) {
		w.each(func(v uint32) {
			if uint16(v>>16) == high {
				count(uint16(v))
			}
		})
	})
	return int64(high)<<16 | int64(low)
}

func (w *waitTimes) each(do func(uint32)) {
	for _, block := range w.short {
		for _, v := range block {
			do(v)
		}
	}
}

// pick is the n-th smallest of some values, and which of its equals it is. counts has room for
// each value, and is cleared first.
func pick(n int, counts []int, each func(count func(uint16))) (uint16, int) {
	clear(counts)
	each(func(v uint16) { counts[v]++ })
	for v, c := range counts {
		if n < c {
			return uint16(v), n
		}
		n -= c
	}
	return math.MaxUint16, 0
}
