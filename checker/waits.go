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
	at := func(percent int) int64 { return w.nth((w.n - 1) * percent / 100) }
	return &Waits{P50: at(50), P95: at(95), P99: at(99), Max: at(100)}
}

// nth is the n-th smallest, from 0 on, found by its upper half first: sorting would take
// as much memory again. long is sorted.
func (w *waitTimes) nth(n int) int64 {
	negative, _ := slices.BinarySearch(w.long, 0)
	short := w.n - len(w.long)
	switch {
	case n < negative:
		return w.long[n]
	case n >= negative+short:
		return w.long[n-short]
	}
	n -= negative
	if short <= fewWaits {
		all := make([]uint32, 0, short)
		w.each(func(v uint32) { all = append(all, v) })
		slices.Sort(all)
		return int64(all[n])
	}
	high, n := pick(n, func(count func(uint16)) {
		w.each(func(v uint32) { count(uint16(v >> 16)) })
	})
	low, _ := pick(n, func(count func(uint16)) {
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

// pick is the n-th smallest of some values, and which of its equals it is.
func pick(n int, each func(count func(uint16))) (uint16, int) {
	var counts [1 << 16]int
	each(func(v uint16) { counts[v]++ })
	for v, c := range counts {
		if n < c {
			return uint16(v), n
		}
		n -= c
	}
	return math.MaxUint16, 0
}
