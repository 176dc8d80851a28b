package checker

// reason is why an early grant came.
type reason struct {
	cause string
	words string  // added to the explanation
	refs  []int32 // the events that show it
	blame *blamed // which faults had a part in it; nil: those that are suspected of an early grant
}

// earlyCauses look for the cause of an early grant, the first that finds one is right: what is known for certain comes before what only fits.
// Most look only if what happened is no cause by itself, as a renewal of what had ended is; always says that one looks then, too.
var earlyCauses = []struct {
	find   func(*earlyCase) (reason, bool)
	always bool
}{
	{find: (*earlyCase).endedBefore},
	{find: (*earlyCase).rounded},
	{find: (*earlyCase).countedLate},
	{find: (*earlyCase).renewedEnded},
	{find: (*earlyCase).sharedExpiry, always: true},
	{find: (*earlyCase).delayedRelease, always: true},
	{find: (*earlyCase).minority},
	{find: (*earlyCase).noServer},
	{find: (*earlyCase).renewedMeanwhile},
	{find: (*earlyCase).besideRelease},
	{find: (*earlyCase).ownRelease},
	{find: (*earlyCase).releasedAgain},
	{find: (*earlyCase).confirmedLost},
	{find: (*earlyCase).downgradeGap},
	{find: (*earlyCase).otherKey},
	{find: (*earlyCase).endedEarly},
	{find: (*earlyCase).givenUp},
}

// explain adds the first cause that is found.
func (c *earlyCase) explain() {
	for _, row := range earlyCauses {
		if c.a.Cause != grantedEarly && !row.always {
			continue
		}
		if why, ok := row.find(c); ok {
			c.add(why)
			return
		}
	}
	if c.a.Cause == grantedEarly && c.newer.lock.mutex() && !c.renewed {
		c.a.Explanation += c.an.formerWords(c.older)
	}
}

// add makes it the cause.
func (c *earlyCase) add(why reason) {
	c.a.Cause = why.cause
	c.a.Explanation += why.words
	c.refs = append(c.refs, why.refs...)
	if why.blame != nil {
		c.blame = *why.blame
	}
}
