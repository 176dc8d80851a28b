package checker

import "fmt"

// stoppedFor is for how long the client of a grant had been stopped or dead at t, if its lease had been promised beyond t
// before that: nothing that the client did can have ended the lease then. It is 0 if the client could act.
func (l *faultLog) stoppedFor(g *grant, t int64) (length int64, words string) {
	for _, f := range l.byNode[g.process].latest(nil, t, t) {
		how := map[string]string{"pause": "stopped", "kill": "dead"}[baseName(f.name)]
		if how == "" || f.end <= t || g.promisedBy(f.begin) <= t || t-f.begin <= length {
			continue
		}
		length, words = t-f.begin, fmt.Sprintf("; %s had been %s for %s by then", g.process, how, dur(t-f.begin))
	}
	return length, words
}
