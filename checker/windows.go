package checker

import (
	"iter"

	"github.com/anishathalye/porcupine"
)

// window is one interval of one key that can be checked alone.
type window struct {
	key     string
	from    int64
	accused bool // an anomaly lies in it
	build   func() porcupineCase
}

// porcupineCase is what Porcupine is asked about a window, and the exact check's answer.
type porcupineCase struct {
	exact       bool // nothing wrong
	illegalOnly bool // only Porcupine's "illegal" contradicts the exact check
	model       porcupine.Model
	calls       []porcupine.Operation
}

// sample takes the windows with anomalies first, then others from all over.
func sample(all []window) []window {
	var out, rest []window
	for _, w := range all {
		switch {
		case w.accused && len(out) < windowCount/2:
			out = append(out, w)
		case !w.accused:
			rest = append(rest, w)
		}
	}
	room := windowCount - len(out)
	if len(rest) <= room {
		return append(out, rest...)
	}
	for i := range room {
		out = append(out, rest[i*len(rest)/room])
	}
	return out
}

// indexRange is a part of a list, [from, to).
type indexRange struct{ from, to int }

// partition cuts a list where nothing is under way: before every element that
// begins after all before it have ended. Each part can be checked alone.
func partition[T any](list []T, begin, end func(T) int64) iter.Seq[indexRange] {
	return func(yield func(indexRange) bool) {
		from, until := 0, int64(-1)
		for i, v := range list {
			if i > from && begin(v) > until {
				if !yield(indexRange{from, i}) {
					return
				}
				from = i
			}
			until = max(until, end(v))
		}
		if from < len(list) {
			yield(indexRange{from, len(list)})
		}
	}
}

// group joins neighbouring parts to windows of useful size; larger parts than a
// window are left out.
func group(parts iter.Seq[indexRange]) []indexRange {
	var out []indexRange
	var cur indexRange
	flush := func() {
		if cur.to-cur.from > 1 {
			out = append(out, cur)
		}
	}
	for p := range parts {
		if p.to-cur.from > windowSize {
			flush()
			cur = indexRange{p.from, p.from}
		}
		if p.to-p.from > windowSize {
			cur = indexRange{p.to, p.to}
			continue
		}
		cur.to = p.to
	}
	flush()
	return out
}
