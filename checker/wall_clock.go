package checker

// shorten counts every lease as shorter by what the machine's wall clock was set meanwhile: a service that counts leases by
// it may have ended each so much earlier, and no fault of the history did that.
func (an *analysis) shorten(by int64) {
	if by <= 0 {
		return
	}
	for _, k := range an.locks {
		for _, g := range k.grants {
			if g.lease > 0 {
				g.lease = max(1, g.lease-by)
			}
			list := g.renewals()
			g.renewed = nil // what it knows of them is drawn from them anew
			for _, r := range list {
				if r.lease > 0 {
					left := max(1, r.lease-by)
					r.until -= r.lease - left
					r.lease = left
				}
				g.addRenewal(r)
			}
		}
	}
}
