package checker

import (
	"iter"

	"github.com/anishathalye/porcupine"
)

// window is one stretch of one key that can be checked alone.
type window struct {
	key     string
	from    int64
	accused bool // an anomaly lies in it
	build   func() question
}

// question is what Porcupine is asked about a window, and our own answer.
type question struct {
	exact  bool // nothing wrong
	oneway bool // only Porcupine's "illegal" contradicts us
	model  porcupine.Model
	calls  []porcupine.Operation
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

// stretch is a part of a list, [from, to).
type stretch struct{ from, to int }

// partition cuts a list where nothing is under way: before every element that
// begins after all before it have ended. Each part can be checked alone.
func partition[T any](list []T, begin, end func(T) int64) iter.Seq[stretch] {
	return func(yield func(stretch) bool) {
		from, until := 0, int64(-1)
		for i, v := range list {
			if i > from && begin(v) > until {
				if !yield(stretch{from, i}) {
					return
				}
				from = i
			}
			until = max(until, end(v))
		}
		if from < len(list) {
			yield(stretch{from, len(list)})
		}
	}
}

// group joins neighbouring parts to windows of useful size; larger parts than a
// window are left out.
func group(parts iter.Seq[stretch]) []stretch {
	var out []stretch
	var cur stretch
	flush := func() {
		if cur.to-cur.from > 1 {
			out = append(out, cur)
		}
	}
	for p := range parts {
		if p.to-cur.from > windowSize {
			flush()
			cur = stretch{p.from, p.from}
		}
		if p.to-p.from > windowSize {
			cur = stretch{p.to, p.to}
			continue
		}
		cur.to = p.to
	}
	flush()
	return out
}
