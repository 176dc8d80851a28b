package hunt

import "math"

// sequential is a test of how often a schedule shows what it is to show, with as few runs as
// that takes (A. Wald, Sequential analysis, 1947). With no hit rate it tells a rate of 0.9 or more
// from one of 0.5 or less: two failures in a row, or three in all, reject; eight successes
// accept. With one, which a schedule was measured to have, it tells that rate or more from half
// of it or less, and is wrong once in ten.
type sequential struct {
	hitRate           float64
	inARow            int // so many hits decide if there was no miss; 0: they do not
	hits, misses, row int
}

const (
	enoughHits = 8
	missesRow  = 2
)

// surest is the highest rate that is tested for: with 1, one failure would decide.
const surest = 0.95

// evidence is when the test with a hit rate has decided: the logarithm of how much likelier one
// rate has become than the other, ln((1-0.1)/0.1).
var evidence = math.Log(9)

func (q *sequential) take(hit bool) {
	if hit {
		q.hits++
		q.row = 0
		return
	}
	q.misses++
	q.row++
}

func (q *sequential) accepted() bool {
	if q.hitRate > 0 {
		return q.likelier() >= evidence
	}
	return (q.hits >= enoughHits || q.inARow > 0 && q.misses == 0 && q.hits >= q.inARow) && !q.rejected()
}

func (q *sequential) rejected() bool {
	if q.hitRate > 0 {
		return q.likelier() <= -evidence
	}
	return q.row >= missesRow || q.misses >= 3
}

func (q *sequential) decided() bool { return q.accepted() || q.rejected() }

// likelier is the logarithm of how much likelier the runs are at the whole rate than at half
// of it.
func (q *sequential) likelier() float64 {
	whole := min(q.hitRate, surest)
	half := whole / 2
	return float64(q.hits)*math.Log(whole/half) + float64(q.misses)*math.Log((1-whole)/(1-half))
}
