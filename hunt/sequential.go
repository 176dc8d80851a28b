package hunt

// sequential is a test of how often a schedule shows what it is to show: it tells a rate of
// 0.9 or more from one of 0.5 or less with as few plays as that takes (A. Wald, Sequential
// analysis, 1947). Two failures in a row, or three in all, reject; eight successes
// accept.
type sequential struct {
	hits, misses, row int
}

const (
	enoughHits = 8
	missesRow  = 2
)

func (q *sequential) take(hit bool) {
	if hit {
		q.hits++
		q.row = 0
		return
	}
	q.misses++
	q.row++
}

func (q *sequential) accepted() bool { return q.hits >= enoughHits && !q.rejected() }
func (q *sequential) rejected() bool { return q.row >= missesRow || q.misses >= 3 }
func (q *sequential) decided() bool  { return q.accepted() || q.rejected() }
