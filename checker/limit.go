package checker

import (
	"context"
	"iter"
)

// limit is the end of the time given for checking. Loops whose length a history decides ask
// whether it has come, so that a check ends soon after, however long the history is.
type limit struct {
	ctx  context.Context
	n    uint
	over bool
}

// every is how many steps of a loop go by between two looks at the time: a step takes
// microseconds at most.
const every = 1 << 8

// passed says whether the time is over. It looks now and then only.
func (l *limit) passed() bool {
	if l.n++; l.n%every == 0 {
		return l.ended()
	}
	return l.over
}

// ended is passed with a look at the time.
func (l *limit) ended() bool {
	l.over = l.over || l.ctx.Err() != nil
	return l.over
}

// inTime ranges over a list until the time is over.
func inTime[T any](l *limit, list []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, v := range list {
			if l.passed() || !yield(v) {
				return
			}
		}
	}
}

// undecided is the verdict where the time was over before the history was taken apart.
func (an *analysis) undecided() Verdict {
	v := Verdict{Properties: map[string]Property{}, Anomalies: []Anomaly{}, Stats: an.stats}
	for _, name := range Properties {
		v.Properties[name] = Property{Valid: Unknown, Required: name != Belief, Why: outOfTime}
	}
	v.Valid, v.Why, v.Promises = Unknown, outOfTime, Unknown
	return v
}
